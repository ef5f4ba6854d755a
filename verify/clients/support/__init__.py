"""What the tests share: tokens, recognisable media, and one participant class per WebRTC stack."""
