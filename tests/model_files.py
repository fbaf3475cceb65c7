"""Model files, taken apart and put together again."""

import json
import zlib

MARK = b'{"__metadata__":{"crc32":"'
AT = 8 + len(MARK)  # where the checksum stands


def signed(raw):
    """Return the bytes of a model file with the checksum that belongs to them."""
    check = zlib.crc32(raw[AT + 8 :], zlib.crc32(raw[:AT]))
    return raw[:AT] + b"%08x" % check + raw[AT + 8 :]


def parts(raw):
    """Return the header of a model file, as a dict, and its data."""
    length = int.from_bytes(raw[:8], "little")
    return json.loads(raw[8 : 8 + length]), raw[8 + length :]


def joined(header, data, sign=True):
    """Return the bytes of a model file."""
    text = json.dumps(header, separators=(",", ":")).encode()
    raw = len(text).to_bytes(8, "little") + text + data
    return signed(raw) if sign else raw
