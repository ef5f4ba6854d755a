"""Machines of a test: network namespaces, what is between them, and its faults."""
