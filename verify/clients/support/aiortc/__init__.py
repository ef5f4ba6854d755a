"""Participants whose connections are those of aiortc."""
