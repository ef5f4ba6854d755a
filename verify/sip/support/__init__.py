"""A proxy, callers, a relay between them, and phones that count every packet."""
