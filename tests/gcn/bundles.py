#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Takes the device code objects of one GPU out of a host library.

usage: bundles.py LIBRARY GPU DIRECTORY

hipcc puts a clang offload bundle for each source file into the section
.hip_fatbin: the magic, the number of entries, then for each its offset from the
magic, its size and its name, "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-". Writes
DIRECTORY/NUMBER.co and prints each path. Where an object exists with and without
XNACK the one without is taken: they hold the same kernels.
"""
import mmap
import re
import struct
import sys

MAGIC = b'__CLANG_OFFLOAD_BUNDLE__'


def entries(data, at):
    """(name, offset, size) of the bundle at `at`."""
    count, = struct.unpack_from('<Q', data, at + len(MAGIC))
    pos = at + len(MAGIC) + 8
    for _ in range(count):
        offset, size, length = struct.unpack_from('<QQQ', data, pos)
        yield data[pos + 24:pos + 24 + length].decode(), at + offset, size
        pos += 24 + length


def main():
    library, gpu, directory = sys.argv[1:]
    written = 0
    with open(library, 'rb') as f, mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ) as data:
        at = data.find(MAGIC)
        while at >= 0:
            mine = {}
            for name, offset, size in entries(data, at):
                m = re.fullmatch(r'hipv?4?-amdgcn-amd-amdhsa-*%s((?::[a-z-]+[+-])*)' % gpu, name)
                if m and size:
                    mine[m.group(1)] = (offset, size)
            if mine:
                offset, size = mine[min(mine, key=lambda features: ('xnack+' in features, features))]
                path = '%s/%d.co' % (directory, written)
                with open(path, 'wb') as out:
                    out.write(data[offset:offset + size])
                print(path)
                written += 1
            at = data.find(MAGIC, at + 1)
    if not written:
        sys.exit('bundles.py: %s holds no code object for %s' % (library, gpu))


if __name__ == '__main__':
    main()
