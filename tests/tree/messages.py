#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the program says and what docs/troubleshooting.md quotes are the same:
each message of daemon/ has a place on the page, and each quote in a column of
what is said is in a source. Prints TAP.

A message is a text with four words or more that is handed to what writes to the
terminal or the log, or that becomes the reason which is written there. Reasons
of files are the library's, and stand on the page as one."""

import glob
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')
PAGE = os.path.join(ROOT, 'docs/troubleshooting.md')
SAYS = re.compile(r'\b(?:log_msg|log_fault|say_failed|\w*refuse\w*'
                  r'|f(?:printf|puts)\(stderr|v?snprintf\((?:error|why|r->why'
                  r'|text))\b')
STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
WORD = re.compile(r"[A-Za-z_']{2,}")
WORDS = 4
# A progress line that the next one writes over.
OTHERS = ('%zu of %zu containers',)


def sources(*patterns):
    for pattern in patterns:
        for path in sorted(glob.glob(os.path.join(ROOT, pattern))):
            with open(path, encoding='utf-8') as source:
                yield os.path.relpath(path, ROOT), source.read()


def call_end(text, at):
    """Where the call ends whose name stands at `at`."""
    depth = 0
    while at < len(text):
        if text[at] == '"':
            at = STRING.match(text, at).end()
            continue
        if text[at] == "'":
            at += 4 if text[at + 1] == '\\' else 3
            continue
        depth += {'(': 1, ')': -1}.get(text[at], 0)
        at += 1
        if depth == 0 and text[at - 1] == ')':
            break
    return at


def joined(text):
    """Strings that go on in the next line, or around a number's format, are
    one."""
    return re.sub(r'"\s*(?:PRI\w+\s*)?"', '', text)


def messages(text):
    for call in SAYS.finditer(text):
        end = call_end(text, call.start())
        for string in STRING.findall(joined(text[call.start():end])):
            if len(WORD.findall(re.sub(r'%[^ ]*', '', string))) >= WORDS:
                yield string


def quotes(page):
    """Those of the columns of what is said."""
    said = False
    for line in page.splitlines():
        if line.startswith('| what is'):
            said = line.startswith('| what is said')
        elif not line:
            said = False
        elif said:
            yield from re.findall('`([^`]*)`', line.split('|')[1])


def missing(page, found):
    """Messages that no quote is in."""
    known = [quote for quote in quotes(page) if len(quote) > 7]
    return [f'{path}: {message}' for path, message in found
            if not any(quote in message for quote in known)
            and not message.lstrip('\\r').startswith(OTHERS)]


def gone(page, said):
    return [quote for quote in quotes(page) if quote not in said]


def main():
    with open(PAGE, encoding='utf-8') as page:
        page = page.read()
    said = '\n'.join(joined(text) for _, text in
                     sources('daemon/*.c', 'daemon/*/*.c', 'lib/*/*.c'))
    found = [(path, message)
             for path, text in sources('daemon/*.c', 'daemon/*/*.c')
             for message in messages(text)]
    lost = '| what is said | why |\n| `nothing says this` | x |\n'
    checks = (
        ('messages are found', found[:0] if len(found) > 100 else found),
        ('each message has its place in troubleshooting.md',
         missing(page, found)),
        ('a message without a place is noticed',
         [] if missing(lost, found[:1]) else found[:1]),
        ('what troubleshooting.md quotes is said', gone(page, said)),
        ('a quote that nothing says is noticed',
         [] if gone(lost, said) else [lost]))
    print(f'1..{len(checks)}')
    for number, (name, faults) in enumerate(checks, 1):
        print(f"{'not ' if faults else ''}ok {number} - {name}")
        for fault in faults:
            print(f'{name}: {fault}', file=sys.stderr)


if __name__ == '__main__':
    main()
