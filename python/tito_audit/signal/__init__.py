"""What drift does to the training signal: ratios, divergences, alignment of log-probabilities, tokens lost, turns."""
