"""Anchors stamped by an authority (RFC 3161): from a statement's file to a `.tsr` beside it, and back to when.

The protocol and the check of tokens are those of `rfc3161-client`, which is imported where it is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pytest_mixgpu.errors import AnchorError, MissingExtraError
from pytest_mixgpu.records.anchors.model import Found, Kind, Proof
from pytest_mixgpu.records.secrets import scrub

if TYPE_CHECKING:
    from pathlib import Path

    from cryptography.x509 import Certificate
    from rfc3161_client import TimeStampResponse

SUFFIX: Final = ".tsr"
_TIMEOUT_S = 30.0
_MAX_BYTES = 1 << 20
"""A token is a few kilobytes; whoever answers with more is no authority."""
_NO_PATH_TO_A_ROOT = "certificate verify error"


class TsaVoucher:
    """Has statements stamped.

    Args:
        url: where the authority answers, `http://` or `https://`.
    """

    kind: Kind = "tsa"

    def __init__(self, url: str) -> None:
        self._url = url

    def check(self, folder: Path) -> None:
        """Have something stamped that is thrown away."""
        del folder
        self._stamped(b"is this authority there?\n")

    def vouch(self, path: Path) -> None:
        """Write the token beside the statement."""
        path.with_name(path.name + SUFFIX).write_bytes(self._stamped(path.read_bytes()))

    def _stamped(self, raw: bytes) -> bytes:
        require_client()
        from rfc3161_client import HashAlgorithm, TimestampRequestBuilder

        query = TimestampRequestBuilder().data(raw).hash_algorithm(HashAlgorithm.SHA256).build()
        answer = _asked(self._url, query.as_bytes())
        response = _decoded(answer)
        fault = "it cannot be read" if isinstance(response, str) else _misfit(response, raw)
        if isinstance(response, str) or fault or response.tst_info.nonce != query.nonce:
            raise AnchorError(
                f"{scrub(self._url)} answered with something that is no token over what was sent"
                f"{f': {fault}' if fault else ' (another nonce)'}"
            )
        return answer


def require_client() -> None:
    """Make sure that the library is here.

    Raises:
        MissingExtraError: it is not; says how to install it.
    """
    try:
        import rfc3161_client  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            "timestamps (RFC 3161) need the package rfc3161-client: pip install 'pytest-mixgpu[anchors]'"
        ) from error


def read_authorities(path: Path) -> tuple[Certificate, ...]:
    """Read the certificates of authorities, roots and what stands between, from a PEM file.

    Raises:
        AnchorError: the file cannot be read or holds none.
        MissingExtraError: the library is not here.
    """
    require_client()
    from cryptography.x509 import load_pem_x509_certificates

    try:
        return tuple(load_pem_x509_certificates(path.read_bytes()))
    except (OSError, ValueError) as error:
        raise AnchorError(f"{path}: no certificates in PEM there ({error})") from error


def token_of(path: Path, raw: bytes, authorities: tuple[Certificate, ...]) -> Found | None:
    """Look at the token beside a statement's file; None where there is none.

    Args:
        path: the statement's file.
        raw: the statement's bytes.
        authorities: certificates that are trusted; none: the token is only compared with the statement.
    """
    beside = path.with_name(path.name + SUFFIX)
    if not beside.is_file():
        return None
    try:
        require_client()
    except MissingExtraError as error:
        return Found(said=f"{beside.name} was not looked at: {error}")
    response = _decoded(beside.read_bytes())
    fault = response if isinstance(response, str) else _misfit(response, raw)
    if isinstance(response, str) or fault:
        return Found(fault=f"the token in {beside.name} is not one over these bytes: {fault}")
    if not authorities:
        return Found(said=f"{beside.name} is a token, and no authority is named that is trusted: --mixgpu-tsa-ca=FILE")
    return _verified(beside.name, response, raw, authorities)


def _verified(name: str, response: TimeStampResponse, raw: bytes, authorities: tuple[Certificate, ...]) -> Found:
    from rfc3161_client import VerificationError, VerifierBuilder

    builder = VerifierBuilder()
    for certificate in authorities:
        builder = builder.add_root_certificate(certificate)
    try:
        builder.build().verify_message(response, raw)
    except (VerificationError, ValueError) as error:
        if _NO_PATH_TO_A_ROOT in str(error):
            return Found(said=f"{name} is a token of an authority that --mixgpu-tsa-ca does not name")
        return Found(fault=f"the token in {name} does not hold: {error}")
    return Found(proof=Proof(kind="tsa", by=_authority(response), at=response.tst_info.gen_time.isoformat()))


def _misfit(response: TimeStampResponse, raw: bytes) -> str:
    """Say why a token is not one over these bytes; empty if it is, whoever signed it."""
    from hashlib import sha256, sha384, sha512

    known = {
        "2.16.840.1.101.3.4.2.1": sha256,
        "2.16.840.1.101.3.4.2.2": sha384,
        "2.16.840.1.101.3.4.2.3": sha512,
    }
    try:
        imprint = response.tst_info.message_imprint
        algorithm = known.get(imprint.hash_algorithm.dotted_string)
        message, status = imprint.message, response.status
    except ValueError as error:
        return str(error)
    if status != 0:
        return f"the authority refused (status {status})"
    if algorithm is None:
        return "it was taken with a hash that is not known here"
    if algorithm(raw).digest() != message:
        return f"it stamps the digest {message.hex()[:12]}…, these bytes have {algorithm(raw).hexdigest()[:12]}…"
    return ""


def _decoded(raw: bytes) -> TimeStampResponse | str:
    """Return the response, or why it is none."""
    from rfc3161_client import decode_timestamp_response

    try:
        return decode_timestamp_response(raw)
    except ValueError as error:
        return f"no response of RFC 3161: {error}"


def _authority(response: TimeStampResponse) -> str:
    from cryptography.x509 import load_der_x509_certificate

    certificates = [load_der_x509_certificate(raw) for raw in response.signed_data.certificates]
    for signer in response.signed_data.signer_infos:
        for one in certificates:
            if (one.issuer, one.serial_number) == (signer.issuer, signer.serial_number):
                return one.subject.rfc4514_string()
        return f"serial number {signer.serial_number} of {signer.issuer.rfc4514_string()}"
    return "an authority without a name"


def _asked(url: str, query: bytes) -> bytes:
    import urllib.request

    if not url.startswith(("http://", "https://")):
        raise AnchorError(f"{scrub(url)}: found an address that is neither http:// nor https://")
    request = urllib.request.Request(  # noqa: S310 - the scheme was looked at
        url, data=query, headers={"Content-Type": "application/timestamp-query"}
    )
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:  # noqa: S310
            raw: bytes = answer.read(_MAX_BYTES)
    except (OSError, ValueError) as error:
        raise AnchorError(f"{scrub(url)} did not stamp: {scrub(str(error))}") from error
    return raw
