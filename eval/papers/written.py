"""Writes numbers as the page has them."""


def number(value, digits=0):
    """A number with so many decimals, and commas between thousands."""
    return f"{value:,.{digits}f}"


def places(value):
    """Three digits that count."""
    return number(value, 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3)
