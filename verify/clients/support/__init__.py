"""Shared parts of the tests: tokens, recognisable media, and one participant class per WebRTC stack."""
