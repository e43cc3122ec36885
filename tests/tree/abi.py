#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What programs were built against stays: the public interface is the one that
is recorded for this version.

    tests/tree/abi.py            the test, which prints TAP
    tests/tree/abi.py --write    records the interface anew, in abi.txt

abi.txt has all that a compiled program knows of libbloscfs: soname, exported
symbols, signatures, values, and where the members of structs lie. --write
refuses what breaks programs while the soname stays, and anything where a
version was released. CC and BLOSCFS_LIBRARY are the compiler and the shared
library; 64-bit machines alone are compared."""

import os
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')
RECORD = os.path.join(ROOT, 'tests/tree/abi.txt')
HEADER = os.path.join(ROOT, 'lib/bloscfs.h')
CC = shlex.split(os.environ.get('CC', 'cc'))
LIBRARY = os.environ.get('BLOSCFS_LIBRARY', '')
# Not part of what is compiled in: versions change by themselves.
OTHER_MACROS = ('BLOSCFS_H', 'BLOSCFS_MUST_CHECK')


def run(*command):
    return subprocess.run(command, check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def tokens(header):
    """Those of the header itself, after the preprocessor."""
    own = False
    kept = []
    for line in run(*CC, '-std=gnu11', '-E', header).splitlines():
        if line.startswith('# '):
            own = line.split('"')[1] == header
        elif own:
            kept.append(line)
    text = re.sub(r'__attribute__\s*\(\(\w+\)\)', '', '\n'.join(kept))
    return re.findall(r'\w+|\.\.\.|[^\w\s]', text)


def split(items, at):
    """items in parts, at what stands in no brackets."""
    depth, parts = 0, [[]]
    for item in items:
        depth += (item in '([{') - (item in ')]}')
        if item == at and depth == 0:
            parts.append([])
        else:
            parts[-1].append(item)
    return [part for part in parts if part]


def is_word(item):
    return re.fullmatch(r'[A-Za-z_]\w*', item) is not None


def nameless(items):
    """A parameter or a member as (name, type without it)."""
    if '(' in items:        # (*name)(...), whose parameters have names too
        at = items.index('*', items.index('(')) + 1
        ret, last = items[:at - 2], items[at + 2:]
        return items[at], ' '.join(ret) + ' (*)' + signature(last)
    end = items.index('[') if '[' in items else len(items)
    named = end > 1 and is_word(items[end - 1]) and \
        items[end - 2] not in ('struct', 'enum', 'union')
    if not named or items[:end] == ['unsigned', 'int']:
        return '', ' '.join(items)
    return items[end - 1], ' '.join(items[:end - 1] + items[end:])


def signature(items):
    """Of ( parameter, ... ), without names."""
    return '(' + ', '.join(nameless(part)[1]
                           for part in split(items[1:-1], ',')) + ')'


def members(items):
    """(name, type) of each, where `uint64_t off, len` are two."""
    for whole in split(items, ';'):
        first, *more = split(whole, ',')
        name, kind = nameless(first)
        yield name, kind
        for other in more:
            yield other[-1], kind


def layout(header, found, structs, values):
    """Adds what a compiler alone knows: sizes, offsets, values."""
    lines = ['#include <stdio.h>', '#include "%s"' % header,
             'int main(void) {']
    for struct, names in structs.items():
        lines.append('printf("struct %s=%%zu bytes\\n", sizeof(struct %s));'
                     % (struct, struct))
        lines += ['printf("member {0}.{1}=at %zu, %zu bytes\\n", '
                  'offsetof(struct {0}, {1}), sizeof(((struct {0} *)0)->{1}));'
                  .format(struct, name) for name in names]
    lines += ['printf("value {0}=%lld\\n", (long long){0});'.format(value)
              for value in values]
    with tempfile.TemporaryDirectory() as tmp:
        program = os.path.join(tmp, 'layout')
        with open(program + '.c', 'w') as to:
            to.write('\n'.join(lines + ['return 0; }', '']))
        run(*CC, '-std=gnu11', '-w', '-o', program, program + '.c')
        for line in run(program).splitlines():
            key, value = line.split('=')
            known = found.get(key)
            found[key] = known + ', ' + value if known else value


def interface(header):
    """All that the header tells, as {'kind name': 'what it is'}."""
    found, structs, values = {}, {}, []
    for items in split(tokens(header), ';'):
        if '{' in items:
            kind, name, body = items[0], items[1], items[3:-1]
            if kind == 'enum':
                values += [part[0] for part in split(body, ',')]
                continue
            structs[name] = []
            for member, what in members(body):
                structs[name].append(member)
                found['member %s.%s' % (name, member)] = what
        elif '(' in items:
            at = items.index('(')
            found['function ' + items[at - 1]] = \
                ' '.join(items[:at - 1]) + ' ' + signature(items[at:])
        else:
            found[' '.join(items)] = 'declared'
    with open(header) as file:
        for name in re.findall(r'^#define (\w+)', file.read(), re.M):
            if name not in OTHER_MACROS and '_VERSION_' not in name:
                values.append(name)
    layout(header, found, structs, values)
    return found


def exports(library):
    """Its soname and symbols."""
    found = {'symbol ' + line.split()[2]: 'exported'
             for line in run('nm', '-D', '--defined-only', library).splitlines()}
    said = run('readelf', '-d', library)
    found['soname'] = re.search(r'soname: \[(.*)\]', said).group(1)
    return found


def version():
    with open(os.path.join(ROOT, 'meson.build')) as file:
        return re.search(r"^  version: '([\d.]+)'", file.read(), re.M).group(1)


def recorded():
    with open(RECORD) as file:
        lines = [line.rstrip('\n') for line in file if line[0] != '#']
    return dict(line.split(': ', 1) for line in lines)


def differences(old, new):
    for key in sorted(old.keys() | new.keys()):
        if old.get(key) != new.get(key):
            yield key, '%s: %s, was %s' % (key, new.get(key, 'not there'),
                                           old.get(key, 'not there'))


def breaks(old, new):
    """Of the differences, those that a program built before does not survive:
    bloscfs.h says how structs may grow."""
    def grows(struct):
        return 'at 0, ' in old.get('member %s.size' % struct, '')

    for key, what in differences(old, new):
        struct = key.partition(' ')[2].partition('.')[0]
        same = old.get('struct ' + struct) == new.get('struct ' + struct)
        if key not in old:
            fine = not key.startswith('member ') or same or grows(struct) or \
                'struct ' + struct not in old
        elif key.startswith('struct '):
            fine = grows(struct) and key in new and \
                int(new[key].split()[0]) > int(old[key].split()[0])
        else:
            fine = key == 'version' or (key.endswith('.reserved') and same)
        if not fine:
            yield what


def write(now):
    old = recorded() if os.path.exists(RECORD) else {}
    for _, what in differences(old, now):
        print(what)
    broken = list(breaks(old, now)) if old else []
    tag = subprocess.run(['git', '-C', ROOT, 'rev-parse', '-q', '--verify',
                          'refs/tags/v' + now['version']],
                         stdout=subprocess.DEVNULL).returncode == 0
    if tag and old != now:
        sys.exit('abi.py: %s is released: raise the version' % now['version'])
    # Nobody has what was never released.
    if broken and old['version'] != now['version'] and \
            old['soname'] == now['soname']:
        sys.exit('abi.py: programs break by this, raise soversion '
                 '(lib/meson.build):\n' + '\n'.join(broken))
    with open(RECORD, 'w') as to:
        to.write('# The interface of libbloscfs: see abi.py beside this.\n')
        to.writelines('%s: %s\n' % item for item in sorted(now.items()))


def changed_header():
    """What the test finds in a header that is wrong in five ways."""
    with open(HEADER) as file:
        text = file.read()
    for old, new in (
            ('\tuint64_t off;\n\tint64_t chunk;', '\tint64_t chunk;\n\tuint64_t off;'),
            ('uint32_t blksize;', 'uint16_t blksize;'),
            ('int bloscfs_err_errno(', 'long bloscfs_err_errno('),
            ('\tBLOSCFS_ERR_IO,', '\tBLOSCFS_ERR_NEW,\n\tBLOSCFS_ERR_IO,'),
            ('BLOSCFS_NAME_MAX 255', 'BLOSCFS_NAME_MAX 256')):
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    with tempfile.TemporaryDirectory() as tmp:
        other = os.path.join(tmp, 'bloscfs.h')
        with open(other, 'w') as to:
            to.write(text)
        return interface(other)


def a_test(number, name, faults):
    print('%s %d - %s' % ('not ok' if faults else 'ok', number, name))
    for fault in faults:
        print('# ' + fault)


def test(now):
    old = recorded()
    faults = [what for _, what in differences(old, now)]
    if faults:
        faults.append('Raise the version if this one was released; then run '
                      'tests/tree/abi.py --write with BLOSCFS_LIBRARY set.')
    a_test(1, 'the interface is what is recorded for this version', faults)
    # The header alone: what a program would not see at once.
    header = {key: what for key, what in now.items()
              if key not in ('version', 'soname') and key[:7] != 'symbol '}
    found = {key for key, _ in differences(header, changed_header())}
    missed = {'member bloscfs_diag.off', 'member bloscfs_diag.chunk',
              'member bloscfs_attr.blksize', 'function bloscfs_err_errno',
              'value BLOSCFS_ERR_NEW', 'value BLOSCFS_ERR_IO',
              'value BLOSCFS_NAME_MAX'} - found
    a_test(2, 'a member, a signature, a value that changes is found', missed)
    less = {key: what for key, what in old.items()
            if key != 'symbol bloscfs_read'}
    a_test(3, 'a symbol that is missing breaks programs',
           [] if list(breaks(old, less)) else ['it does not'])
    more = dict(old)
    more['version'] = '0.2.0'
    more['symbol bloscfs_new_one'] = 'exported'
    more['struct bloscfs_stats'] = '4096 bytes'
    more['member bloscfs_stats.new_one'] = 'uint64_t, at 4088, 8 bytes'
    a_test(4, 'what is added where it may be breaks none', list(breaks(old, more)))
    more['struct bloscfs_diag'] = '4096 bytes'
    a_test(5, 'a struct that grows and may not breaks programs',
           [] if len(list(breaks(old, more))) == 1 else ['it does not'])
    print('1..5')


def main():
    now = {'version': version(), **exports(LIBRARY), **interface(HEADER)}
    if sys.argv[1:] == ['--write']:
        write(now)
    elif sys.argv[1:]:
        sys.exit(__doc__)
    elif sys.maxsize < 1 << 32:
        print('1..0 # SKIP the record is of 64-bit machines')
    else:
        test(now)


main()
