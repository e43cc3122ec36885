# SPDX-License-Identifier: BSD-3-Clause
"""layers.py - rooms keep to their ranks, and files use one another one way.

A room sees its own files, those of lower ranks, and those of its own rank;
codec/ and filter/ do not see each other. The ranks are those of the table in
docs/architecture.md. Two things count as seeing: an #include, and in the
object files of the build a symbol (a function or data) of another file.

Files use one another one way too: there is no circle of files. A .c and the
.h of its name are one file. A header without a .c of its name (priv.h) holds
what a room shares: what it includes of its own room makes no circle, nor does
one .c with headers alone.

A table of rows (rows.def) is the exception it is meant to be: the file that
includes it knows each row by address alone and calls it through the table.
Its symbols of rows are no arrows, and a row uses none of its table's.

To run it alone, after a build:
    meson test -C BUILD layers
    python3 tests/tree/layers.py BUILD
"""
import copy
import functools
import os
import re
import subprocess
import sys

# Circles that are known and are going to be opened, each a set of files
# without their endings. What is left of one may be smaller; one that is listed
# and no longer there is a failure.
KNOWN_CIRCLES = []

SIBLINGS = {('codec/', 'filter/'), ('filter/', 'codec/')}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]*)"', re.M)
# Kinds of nm(1) that define a symbol for other files.
DEFINED = 'TWVDRBCGSiu'


@functools.lru_cache(maxsize=None)
def includes(text):
    return INCLUDE.findall(text)


class Tree:
    """Source files, what they include, and the symbols of their objects."""

    def __init__(self, build):
        self.text = {}
        for top in 'lib', 'daemon':
            for folder, _, names in os.walk(top):
                for name in names:
                    if name.endswith(('.c', '.h', '.def')):
                        path = os.path.join(folder, name)
                        with open(path, encoding='utf-8') as file:
                            self.text[path] = file.read()
        with open('docs/architecture.md', encoding='utf-8') as file:
            self.ranks = read_ranks(file.read())
        self.defines = {}   # file.c -> symbols
        self.needs = {}     # file.c -> symbols
        self.read_objects(build)

    def sources(self, ending):
        return sorted(f for f in self.text if f.endswith(ending))

    def read_objects(self, build):
        # meson names an object after its source, with _ for each /.
        homes = {
            'lib': ['lib/libbloscfs-inside.a.p', 'lib/libbloscfs-api.a.p'],
            'daemon': ['daemon/bloscfs.p'],
        }
        for source in self.sources('.c'):
            top, rest = source.split('/', 1)
            name = rest.replace('/', '_') + '.o'
            for home in homes[top]:
                path = os.path.join(build, home, name)
                if os.path.exists(path):
                    self.read_object(source, path)

    def read_object(self, source, path):
        out = subprocess.run(['nm', '-P', path], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
        self.defines[source] = set()
        self.needs[source] = set()
        for line in out.splitlines():
            name, kind = line.split()[:2]
            if kind in DEFINED:
                self.defines[source].add(name)
            elif kind in 'Uwv':
                self.needs[source].add(name)

    def room(self, file):
        """The row's word for a file: `base/`, `bloscfs.h`, `daemon/tree/`."""
        if file.startswith('lib/'):
            file = file[len('lib/'):]
        fits = [r for r in self.ranks
                if file == r or r.endswith('/') and file.startswith(r)
                or file in (r + '.c', r + '.h')]
        return max(fits, key=len, default=None)

    def target(self, file, quoted):
        """The file that an #include means, or None."""
        if '..' in quoted.split('/'):
            return None
        tops = ['daemon', 'lib'] if file.startswith('daemon/') else ['lib']
        for top in tops:
            if top + '/' + quoted in self.text:
                return top + '/' + quoted
        return None

    def rows(self):
        """Which files are rows, for each file that includes a rows.def."""
        found = {}
        for file in self.sources('.c'):
            for quoted in includes(self.text[file]):
                if not quoted.endswith('/rows.def'):
                    continue
                table = 'lib/' + quoted
                for stem in re.findall(r'^BFS_\w*ROW\((\w+)',
                                       self.text[table], re.M):
                    home = os.path.dirname(table) + '/' + stem
                    found.setdefault(file, set()).update(
                        {home + '.c', home + '/' + stem + '.c'})
        return found

    def arrows(self):
        """(from, to, why) for each use of a file by another."""
        for file in self.sources(('.c', '.h')):
            for quoted in includes(self.text[file]):
                to = self.target(file, quoted)
                if to and not to.endswith('.def'):
                    yield file, to, 'includes ' + quoted
        owner = {}
        for file, symbols in self.defines.items():
            # The daemon and the library are linked apart.
            for symbol in symbols:
                owner[file.split('/')[0], symbol] = file
        rows = self.rows()
        for file, symbols in sorted(self.needs.items()):
            for symbol in sorted(symbols):
                to = owner.get((file.split('/')[0], symbol))
                if to and to != file and to not in rows.get(file, ()):
                    yield file, to, 'uses ' + symbol


def read_ranks(text):
    """Rows of the form "| rank | `room` `room` ... | what they hold |"."""
    ranks = {}
    for line in text.splitlines():
        row = re.match(r'\| *(\d+) *\|([^|]*)\|', line)
        if row:
            for room in re.findall(r'`([^`]*)`', row[2]):
                ranks[room] = int(row[1])
    return ranks


def find_strangers(tree):
    for file in tree.sources(('.c', '.h')):
        if tree.room(file) is None:
            yield f'{file}: its room has no rank'
    for file in tree.sources('.c'):
        if file not in tree.defines:
            yield f'{file}: no object of the build is its'


def find_unnamed(tree):
    for file in tree.sources(('.c', '.h')):
        for quoted in includes(tree.text[file]):
            if tree.target(file, quoted) is None:
                yield f'{file}: "{quoted}" is not named from lib/ or daemon/'


def find_upward(tree):
    for file, to, why in tree.arrows():
        a, b = tree.room(file), tree.room(to)
        if a is None or b is None:
            continue
        if file.startswith('daemon/') and to.startswith('lib/'):
            if b != 'bloscfs.h':
                yield f'{file}: {why}: the daemon sees bloscfs.h alone'
        elif tree.ranks[b] > tree.ranks[a]:
            yield f'{file}: {why}, of {to}, which is above it'
        elif (a, b) in SIBLINGS:
            yield f'{file}: {why}, of its sibling {to}'


def find_asking_rows(tree):
    rows = tree.rows()
    for file, to, why in tree.arrows():
        if why.startswith('uses') and file in rows.get(to, ()):
            yield f'{file}: {why}, of {to}, whose row it is'


def unit(file):
    return file.rsplit('.', 1)[0]


def find_components(graph):
    """Strongly connected components (Tarjan), without recursion."""
    index, low, stack, on, found = {}, {}, [], set(), []
    for root in sorted(graph):
        if root in index:
            continue
        work = [(root, iter(sorted(graph[root])))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on.add(root)
        while work:
            node, rest = work[-1]
            for to in rest:
                if to not in index:
                    index[to] = low[to] = len(index)
                    stack.append(to)
                    on.add(to)
                    work.append((to, iter(sorted(graph[to]))))
                    break
                if to in on:
                    low[node] = min(low[node], index[to])
            else:
                work.pop()
                if work:
                    above = work[-1][0]
                    low[above] = min(low[above], low[node])
                if low[node] == index[node]:
                    part = set()
                    while node not in part:
                        part.add(stack.pop())
                    on -= part
                    found.append(part)
    return found


def find_circles(tree):
    """Sets of units, and the arrows within each."""
    graph = {unit(f): set() for f in tree.sources(('.c', '.h'))}
    arrows = [(file, to, why) for file, to, why in tree.arrows()
              if unit(file) + '.c' in tree.text
              or tree.room(file) != tree.room(to)]
    for file, to, _ in arrows:
        if unit(file) != unit(to):
            graph[unit(file)].add(unit(to))
    for part in find_components(graph):
        if sum(u + '.c' in tree.text for u in part) > 1:
            yield part, sorted({
                f'{file}: {why}, of {to}' for file, to, why in arrows
                if unit(file) != unit(to)
                and unit(file) in part and unit(to) in part})


def find_new_circles(tree):
    for part, arrows in find_circles(tree):
        if not any(part <= known for known in KNOWN_CIRCLES):
            yield 'a circle of ' + ' '.join(sorted(part))
            for arrow in arrows:
                yield '    ' + arrow


def find_opened_circles(tree):
    there = [part for part, _ in find_circles(tree)]
    for known in KNOWN_CIRCLES:
        if not any(part <= known for part in there):
            yield 'no such circle (any more): ' + ' '.join(sorted(known))


# What no file but its own uses, and why others may see it.
TESTED = {
    # Parts that tests look at or ask apart.
    'bfs_codec_by_code', 'bfs_cpu_detect', 'bfs_cpu_name', 'bfs_fd_spare',
    'bfs_foreign_is_n5', 'bfs_pool_quota', 'bfs_zarr_new', 'costs_of',
    'fence_may_be_replaced', 'folder_escape',
    # What is in use just now, and what has ended.
    'bfs_fd_count', 'bfs_mem_used', 'bfs_pool_wait',
    # Memory that fails, and another machine's pages.
    'bfs_mem_fail_at', 'bfs_mem_set_page_len',
    # The text within a header, which parsed again must give the dtype back.
    'bfs_dtype_descr',
}


def find_unused(tree):
    """Symbols of one file that no other needs: static, or dead."""
    needed = {'lib': set(), 'daemon': {'main'}}
    defined = set().union(*tree.defines.values())
    for file, symbols in tree.needs.items():
        needed[file.split('/')[0]] |= symbols
    for file, symbols in tree.defines.items():
        for symbol in symbols - needed[file.split('/')[0]] - TESTED:
            if not symbol.startswith('bloscfs_'):
                yield f'{file}: nothing else uses {symbol}'
    for symbol in TESTED - defined:
        yield f'{symbol} is not there any more'


def find_few_ranks(tree):
    if len(tree.ranks) < 12:
        yield 'the table in docs/architecture.md is not read'
    if len(tree.defines) < 100:
        yield 'the objects are not read'


def changed(tree, file, line=None, needs=None, defines=None):
    """The tree with one line more in a file, or one symbol more."""
    other = copy.copy(tree)
    if line:
        other.text = dict(tree.text)
        other.text[file] += line + '\n'
    if defines:
        other.defines = dict(tree.defines)
        other.defines[file] = tree.defines[file] | {defines}
    if needs:
        assert any(needs in d for d in tree.defines.values()), needs
        other.needs = dict(tree.needs)
        other.needs[file] = tree.needs[file] | {needs}
    return other


class Tap:
    def __init__(self):
        self.n = 0
        self.failed = False

    def say(self, good, name, found=()):
        self.n += 1
        print('ok' if good else 'not ok', self.n, '-', name)
        if not good:
            self.failed = True
            print(name + ':', *list(found)[:200], sep='\n', file=sys.stderr)

    def check(self, name, found):
        found = sorted(set(found)) if not isinstance(found, list) else found
        self.say(not found, name, found)

    def check_fails(self, name, find, good, bad):
        """find() tells more of the bad tree than of the good one."""
        before = set(find(good))
        self.say(any(f not in before for f in find(bad)), name)


def check_teeth(tap, tree):
    """That each kind of fault is found where one is made."""
    def bad(name, find, *args, **kwargs):
        tap.check_fails(name, find, tree, changed(tree, *args, **kwargs))

    bad('an include that points up is found', find_upward,
        'lib/base/err.h', line='#include "chunk/plan.h"')
    bad('filter/ may not include codec/', find_upward,
        'lib/filter/filter.h', line='#include "codec/codec.h"')
    bad('codec/ may not include filter/', find_upward,
        'lib/codec/codec.h', line='# include "filter/filter.h"')
    bad('an include by a path of its own is found', find_unnamed,
        'lib/chunk/plan.h', line='#include "../lib/base/err.h"')
    bad('the daemon may not look into the library', find_upward,
        'daemon/main.c', line='#include "base/mem.h"')
    bad('a room of the daemon may not include one above it', find_upward,
        'daemon/log/log.c', line='#include "tree/nodes.h"')
    bad('a call that points up is found', find_upward,
        'lib/base/mem.c', needs='bfs_chunk_parse')
    bad('codec/ may not call filter/', find_upward,
        'lib/codec/lz4.c', needs='bfs_filter_find')
    bad('a call that closes a circle is found', find_new_circles,
        'lib/base/err.c', needs='bfs_zalloc')
    bad('an include that closes a circle is found', find_new_circles,
        'lib/base/err.h', line='#include "base/mem.h"')
    bad('a row that asks its table is found', find_asking_rows,
        'lib/codec/lz4.c', needs='bfs_codec_find')
    bad('a function that nothing uses is found', find_unused,
        'lib/base/mem.c', defines='bfs_mem_forgotten')


def main():
    build = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(
        os.path.dirname(os.environ['BLOSCFS_LIBRARY']))
    build = os.path.abspath(build)
    os.chdir(os.environ.get('BLOSCFS_SOURCE_ROOT') or os.path.join(
        os.path.dirname(os.path.abspath(__file__)), '../..'))
    tree = Tree(build)
    tap = Tap()
    tap.check('the table of ranks and the objects are read',
              find_few_ranks(tree))
    tap.check('every file has a rank and an object', find_strangers(tree))
    tap.check('files are included by their names from lib/ or daemon/',
              find_unnamed(tree))
    tap.check('no include and no call points up', find_upward(tree))
    tap.check('no row asks its table', find_asking_rows(tree))
    tap.check('no circle of files', list(find_new_circles(tree)))
    tap.check('circles said to be known are there', find_opened_circles(tree))
    tap.check('what files share is used by others', find_unused(tree))
    check_teeth(tap, tree)
    print(f'1..{tap.n}')
    return tap.failed


if __name__ == '__main__':
    sys.exit(main())
