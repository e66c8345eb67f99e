"""What the command line needs beside the audit: options, configuration, streams."""
