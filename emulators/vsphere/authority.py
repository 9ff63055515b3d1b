"""A certificate authority that lives as long as the emulator: its key is never written."""

from __future__ import annotations

import datetime as dt
import ipaddress
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography import x509

_LIFE = dt.timedelta(days=2)


def make_certificates(directory: Path, address: str) -> tuple[Path, Path]:
    """The authority's certificate, and a certificate with its key for `address` that it signed."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    ca_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    ca_name = _name("diskbench emulated vSphere CA")
    now = dt.datetime.now(dt.UTC)

    def signed(
        subject: x509.Name,
        public: ec.EllipticCurvePublicKey,
        *extensions: tuple[x509.ExtensionType, bool],
    ) -> x509.Certificate:
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(ca_name)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(minutes=5))
            .not_valid_after(now + _LIFE)
        )
        for extension, critical in extensions:
            builder = builder.add_extension(extension, critical=critical)
        return builder.sign(ca_key, hashes.SHA256())

    ca_id = x509.SubjectKeyIdentifier.from_public_key(ca_key.public_key())
    uses = {
        "digital_signature": False, "content_commitment": False, "key_encipherment": False,
        "data_encipherment": False, "key_agreement": False, "encipher_only": False,
        "decipher_only": False,
    }  # fmt: skip
    authority = signed(
        ca_name,
        ca_key.public_key(),
        (x509.BasicConstraints(ca=True, path_length=0), True),
        (x509.KeyUsage(key_cert_sign=True, crl_sign=True, **uses), True),
        (ca_id, False),
    )
    server = signed(
        _name(address),
        key.public_key(),
        (x509.BasicConstraints(ca=False, path_length=None), True),
        (x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))]), False),
        (x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(ca_id), False),
    )
    pem = serialization.Encoding.PEM
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    directory.mkdir(parents=True, exist_ok=True)
    ca_file, server_file = directory / "ca.pem", directory / "server.pem"
    ca_file.write_bytes(authority.public_bytes(pem))
    server_file.unlink(missing_ok=True)
    with os.fdopen(os.open(server_file, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
        file.write(server.public_bytes(pem) + secret)
    return ca_file, server_file


def _name(common: str) -> x509.Name:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])
