#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws ratios out of measured tables as SVG.

plot.py --value COLUMN --by COLUMN,... [--unit TEXT] [--title TEXT]
        TABLE.tsv ... > OUT.svg

Tables begin with a line of column names; lines that begin with # are left
out. Rows that have the same text in the --by columns make one line of the
picture: a dot for each, a bar at their median. The scale is logarithmic.
"""
import argparse
import html
import math
import statistics
import sys

LEFT, WIDTH, STEP, TOP, BOTTOM = 190, 560, 20, 46, 40


def read(paths, by, value):
    """{label: [values]}, in the order in which labels appear."""
    lines = {}
    for path in paths:
        names = None
        with open(path, encoding="utf-8") as table:
            for text in table:
                if text.startswith("#") or not text.strip():
                    continue
                fields = text.rstrip("\n").split("\t")
                if names is None:
                    names = fields
                    continue
                row = dict(zip(names, fields))
                if row.get(value, "-") != "-":
                    label = "  ".join(row[name] for name in by)
                    lines.setdefault(label, []).append(float(row[value]))
    return lines


def ticks(least, most):
    steps = [m * 10 ** e for e in range(-3, 4) for m in (1, 1.5, 2, 3, 5, 7)]
    return [t for t in steps if least <= t <= most]


def draw(lines, title, unit):
    every = [v for values in lines.values() for v in values]
    least, most = min(every + [0.9]) * 0.95, max(every + [1.1]) * 1.05
    height = TOP + STEP * len(lines) + BOTTOM
    bottom = height - BOTTOM

    def x(v):
        scale = math.log(v / least) / math.log(most / least)
        return f"{LEFT + WIDTH * scale:.1f}"

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" '
           f'viewBox="0 0 {LEFT + WIDTH + 30} {height}" '
           f'font-family="sans-serif" font-size="12">',
           '<rect width="100%" height="100%" fill="#fff"/>',
           f'<text x="{LEFT}" y="22" font-size="14">'
           f'{html.escape(title)}</text>']
    for t in ticks(least, most):
        colour = "#555" if t == 1 else "#ddd"
        out.append(f'<line x1="{x(t)}" x2="{x(t)}" y1="{TOP - 8}" '
                   f'y2="{bottom}" stroke="{colour}"/>')
        out.append(f'<text x="{x(t)}" y="{bottom + 15}" '
                   f'text-anchor="middle">{t:g}</text>')
    out.append(f'<text x="{LEFT + WIDTH / 2}" y="{bottom + 32}" '
               f'text-anchor="middle">{html.escape(unit)}</text>')
    for i, (label, values) in enumerate(lines.items()):
        y = TOP + STEP * i + STEP / 2 - 4
        middle = x(statistics.median(values))
        out.append(f'<text x="{LEFT - 10}" y="{y + 4}" text-anchor="end">'
                   f'{html.escape(label)}</text>')
        out += [f'<circle cx="{x(v)}" cy="{y}" r="3.5" fill="#36c" '
                f'fill-opacity="0.55"/>' for v in values]
        out.append(f'<line x1="{middle}" x2="{middle}" y1="{y - 7}" '
                   f'y2="{y + 7}" stroke="#c30" stroke-width="2"/>')
    out.append("</svg>")
    return "\n".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--value", required=True)
    parser.add_argument("--by", required=True)
    parser.add_argument("--unit", default="times as fast")
    parser.add_argument("--title", default="")
    parser.add_argument("tables", nargs="+", metavar="TABLE.tsv")
    args = parser.parse_args()
    lines = read(args.tables, args.by.split(","), args.value)
    if not lines:
        sys.exit("plot.py: no such rows")
    print(draw(lines, args.title, args.unit))


main()
