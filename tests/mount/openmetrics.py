# SPDX-License-Identifier: BSD-3-Clause
"""A strict reader of OpenMetrics text: what it takes, any scraper takes.

Of the format's types only those are known that bloscfs writes.
"""
import re

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
META = re.compile(rf"# (TYPE|UNIT|HELP) ({NAME}) (.+)")
SAMPLE = re.compile(rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)\}})? "
                    r"(-?[0-9]+(?:\.[0-9]+)?)")
SUFFIX = {"counter": "_total", "gauge": "", "info": "_info"}
ORDER = ["TYPE", "UNIT", "HELP"]


def unescape(text):
    return re.sub(r'\\(["\\n])',
                  lambda m: {"n": "\n"}.get(m[1], m[1]), text)


def read_labels(text):
    labels = {}
    for name, value in re.findall(
            r'([a-zA-Z0-9_]+)="((?:[^"\\\n]|\\["\\n])*)"', text or ""):
        if name in labels:
            raise ValueError(f"label {name} twice")
        labels[name] = unescape(value)
    return labels


class Family:
    """Metadata of the samples that follow it."""

    def __init__(self, name):
        self.name = name
        self.meta = {}
        self.samples = {}

    def add_meta(self, key, value):
        if self.samples:
            raise ValueError(f"{key} of {self.name} behind its samples")
        if self.meta and ORDER.index(key) <= max(map(ORDER.index, self.meta)):
            raise ValueError(f"{key} of {self.name} out of order")
        self.meta[key] = value

    def add_sample(self, name, labels, value):
        kind = self.meta.get("TYPE")
        if kind == "histogram":
            self.add_bucket(name, labels, value)
            return
        if kind not in SUFFIX or name != self.name + SUFFIX[kind]:
            raise ValueError(f"{name} is no sample of {self.name}")
        if kind == "counter" and value < 0 or kind == "info" and value != 1:
            raise ValueError(f"{name} cannot be {value}")
        key = tuple(sorted(labels.items()))
        if key in self.samples:
            raise ValueError(f"{name} {key} twice")
        self.samples[key] = value

    def add_bucket(self, name, labels, value):
        """Buckets that never fall, up to +Inf, then count and sum."""
        part = name[len(self.name):]
        if not name.startswith(self.name) or part not in (
                "_bucket", "_count", "_sum") or value < 0:
            raise ValueError(f"{name} {value} is no sample of {self.name}")
        buckets = [seen for key, seen in self.samples.items()
                   if key[0][0] == "le"]
        if part == "_bucket":
            if list(labels) != ["le"] or (buckets and buckets[-1] > value):
                raise ValueError(f"{name} {labels} {value} falls")
        elif labels or part == "_count" and buckets[-1] != value:
            raise ValueError(f"{name} is not the last bucket")
        key = tuple(sorted(labels.items())) or ((part, ""),)
        if key in self.samples:
            raise ValueError(f"{name} {key} twice")
        self.samples[key] = value

    def check(self):
        if self.meta.get("TYPE") == "histogram" and not {
                (("le", "+Inf"),), (("_count", ""),), (("_sum", ""),)
                } <= self.samples.keys():
            raise ValueError(f"{self.name} lacks samples")
        if not self.samples or "HELP" not in self.meta:
            raise ValueError(f"{self.name} is not complete")
        unit = self.meta.get("UNIT")
        if unit and not self.name.endswith("_" + unit):
            raise ValueError(f"{self.name} does not end in {unit}")
        if self.name.endswith(("_bytes", "_seconds")) and not unit:
            raise ValueError(f"{self.name} has no unit")
        if self.name.endswith(("_total", "_info", "_created", "_count",
                               "_sum", "_bucket")):
            raise ValueError(f"{self.name} ends like a sample")


def parse(text):
    """{sample name: {labels as sorted tuple: value}}."""
    if not text.endswith("\n# EOF\n"):
        raise ValueError("no mark of the end")
    families, last = {}, None
    for line in text[:-len("# EOF\n")].splitlines():
        if meta := META.fullmatch(line):
            key, name, value = meta.groups()
            if last is None or name != last.name:
                if name in families:
                    raise ValueError(f"{name} comes twice")
                last = families[name] = Family(name)
            last.add_meta(key, value)
        elif sample := SAMPLE.fullmatch(line):
            if last is None:
                raise ValueError(f"no metadata before {line!r}")
            last.add_sample(sample[1], read_labels(sample[2]),
                            float(sample[3]) if "." in sample[3]
                            else int(sample[3]))
        else:
            raise ValueError(f"not OpenMetrics: {line!r}")
    for family in families.values():
        family.check()
    return {family.name + SUFFIX.get(family.meta["TYPE"], ""): family.samples
            for family in families.values()}
