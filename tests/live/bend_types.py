"""bend_types.py IN OUT STRUCT MEMBER: kernel types (BTF, https://docs.kernel.org/bpf/btf.html) in which a member of a structure is far behind its
end. Programs that are relocated by them read there, and the verifier, which knows better, refuses them."""
import struct, sys

FAR_BITS = 8 * 20000
MEMBER_BYTES = {1: 4, 3: 12, 14: 4, 17: 4}  # INT, ARRAY, VAR, DECL_TAG: after the type; the others by their number of members
EACH_BYTES = {4: 12, 5: 12, 6: 8, 13: 8, 15: 12, 19: 12}  # STRUCT, UNION, ENUM, FUNC_PROTO, DATASEC, ENUM64

data = bytearray(open(sys.argv[1], "rb").read())
_, _, _, header, type_off, type_len, str_off, _ = struct.unpack_from("<HBBIIIII", data)


def name(at):
    start = header + str_off + at
    return data[start : data.index(0, start)].decode()


at, bent = header + type_off, 0
while at < header + type_off + type_len:
    name_off, info, _ = struct.unpack_from("<III", data, at)
    kind, n = info >> 24 & 31, info & 0xFFFF
    at += 12
    for i in range(n if kind == 4 and name(name_off) == sys.argv[3] else 0):
        if name(struct.unpack_from("<I", data, at + i * 12)[0]) == sys.argv[4]:
            struct.pack_into("<I", data, at + i * 12 + 8, FAR_BITS)
            bent += 1
    at += MEMBER_BYTES.get(kind, 0) + EACH_BYTES.get(kind, 0) * n
open(sys.argv[2], "wb").write(data)
sys.exit(bent == 0)
