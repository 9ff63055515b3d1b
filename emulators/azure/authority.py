"""A certificate authority that lives as long as the emulator, and a certificate for its address."""

import datetime as dt
import ipaddress
import ssl
from pathlib import Path
from typing import Any


def make_authority(directory: Path, address: str) -> tuple[Path, ssl.SSLContext]:
    """The authority's certificate in `directory`, and a context to serve `address` with."""
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    authority_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    authority = _certificate("diskbench emulated Azure", authority_key, None, None, address)
    served = _certificate("emulated Azure", key, authority, authority_key, address)
    bundle, chain = directory / "ca.pem", directory / "server.pem"
    bundle.write_bytes(authority.public_bytes(Encoding.PEM))
    chain.touch(mode=0o600)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    chain.write_bytes(private + served.public_bytes(Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain)
    chain.unlink()
    return bundle, context


def _certificate(name: str, key: Any, issuer: Any, signer: Any, address: str) -> Any:
    from cryptography import x509
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.x509.oid import NameOID

    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(days=2))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    if issuer is None:
        signs = dict.fromkeys(
            ("digital_signature", "content_commitment", "key_encipherment", "data_encipherment",
             "key_agreement", "encipher_only", "decipher_only"), False
        )  # fmt: skip
        usage = x509.KeyUsage(key_cert_sign=True, crl_sign=True, **signs)
        return made.add_extension(usage, critical=True).sign(key, SHA256())
    names = [x509.IPAddress(ipaddress.ip_address(address)), x509.DNSName("localhost")]
    by = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.public_key())
    return (
        made.add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(by, critical=False)
        .sign(signer, SHA256())
    )
