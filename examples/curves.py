"""Curves of several runs as SVG, panel beside panel."""

from collections.abc import Mapping, Sequence

Curve = Sequence[float]

COLOURS = ("#0072B2", "#D55E00", "#009E73")
"""Told apart by the colour-blind too."""
WIDTH, HEIGHT, LEFT, TOP, BELOW = 250, 150, 44, 40, 50
"""Of a panel, and of the room to its left, above and below it, in pixels."""


def picture(runs: Mapping[str, Sequence[Curve]], titles: Sequence[str]) -> str:
    """Draw one panel per title and in it one line per run.

    Args:
        runs: Name of a run to its curves, one per title.
        titles: What the curves are.
    """
    width, height = len(titles) * (LEFT + WIDTH) + LEFT, TOP + HEIGHT + BELOW
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for number, title in enumerate(titles):
        parts += panel([curves[number] for curves in runs.values()], title, left=LEFT + number * (LEFT + WIDTH))
    for number, (run, colour) in enumerate(zip(runs, COLOURS, strict=False)):
        x, y = LEFT + number * 130, height - 10
        parts.append(line([(x, y - 4), (x + 20, y - 4)], colour))
        parts.append(f'<text x="{x + 26}" y="{y}" font-size="11">{run}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def panel(curves: Sequence[Curve], title: str, *, left: int) -> list[str]:
    """Draw a frame with the smallest value, 0 and the largest value at its side, and a line for each curve."""
    low, high = min(0.0, *map(min, curves)), max(0.0, *map(max, curves))
    scale = HEIGHT / ((high - low) or 1)

    def y(value: float) -> float:
        return TOP + (high - value) * scale

    parts = [
        f'<text x="{left}" y="{TOP - 12}" font-size="12">{title}</text>',
        f'<rect x="{left}" y="{TOP}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#999"/>',
    ]
    for value in sorted({low, 0.0, high}):
        at = f'y="{y(value) + 4:.1f}" text-anchor="end" font-size="11"'
        parts.append(f'<text x="{left - 4}" {at}>{value:.2g}</text>')
    steps = max(map(len, curves))
    at = f'y="{TOP + HEIGHT + 14}" text-anchor="end" font-size="11"'
    parts.append(f'<text x="{left + WIDTH}" {at}>step {steps}</text>')
    for curve, colour in zip(curves, COLOURS, strict=False):
        apart = WIDTH / max(steps - 1, 1)
        parts.append(line([(left + apart * step, y(value)) for step, value in enumerate(curve)], colour))
    return parts


def line(points: Sequence[tuple[float, float]], colour: str) -> str:
    """Draw a line through points."""
    listed = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{listed}" fill="none" stroke="{colour}" stroke-width="2"/>'
