"""Certificates for servers of a test's own."""

import datetime
import ssl
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def authority_and_server(folder: Path) -> tuple[Path, ssl.SSLContext]:
    """The file of an authority's certificate, and the TLS of a server `localhost` that it has certified."""
    folder.mkdir()
    authority_key, server_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority of a test")])
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    constraints = x509.BasicConstraints(ca=True, path_length=None)
    names = x509.SubjectAlternativeName([x509.DNSName("localhost")])
    authority = _certificate(issuer, issuer, authority_key, authority_key, constraints)
    server = _certificate(subject, issuer, server_key, authority_key, names)
    trusted, chain, key = folder / "authority.pem", folder / "server.pem", folder / "key.pem"
    trusted.write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    chain.write_bytes(server.public_bytes(serialization.Encoding.PEM))
    key.write_bytes(
        server_key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, key)
    return trusted, context


def _certificate(subject, issuer, key, issuer_key, extension) -> x509.Certificate:
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
    )
    return builder.sign(issuer_key, hashes.SHA256())
