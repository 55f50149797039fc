"""Right or wrong per sample, as text: one bit a sample, the first in the highest bit of the first hexadecimal digit."""

from collections.abc import Iterable

from pytest_mixgpu.errors import RecordError


def encode_bits(values: Iterable[bool]) -> str:
    """Return the hexadecimal text; the last byte is filled up with zeros."""
    digits = "".join("1" if value else "0" for value in values)
    if not digits:
        return ""
    num_bytes = -(-len(digits) // 8)
    return int(digits.ljust(8 * num_bytes, "0"), 2).to_bytes(num_bytes).hex()


def decode_bits(text: str, num_samples: int) -> tuple[bool, ...]:
    """Return one value a sample.

    Raises:
        RecordError: the text is not hexadecimal, has another length than the samples need, or its filling is not zero.
    """
    num_bytes = -(-num_samples // 8)
    try:
        raw = bytes.fromhex(text)
    except ValueError as error:
        raise RecordError(f"correct_bits {text[:16]!r}… is not hexadecimal") from error
    if len(raw) != num_bytes or len(text) != 2 * num_bytes:
        raise RecordError(f"correct_bits holds {len(raw)} bytes; {num_samples} samples need {num_bytes}")
    digits = "".join(f"{byte:08b}" for byte in raw)
    if "1" in digits[num_samples:]:
        raise RecordError(f"correct_bits has ones beyond its {num_samples} samples")
    return tuple(digit == "1" for digit in digits[:num_samples])
