#!/usr/bin/env python3
"""Prints lib/base/time_zone_rules.inc, from this machine's tz database."""
import collections
import os
import textwrap

ROOT = "/usr/share/zoneinfo"
# Their clocks follow Ramadan, which no rule expresses.
WITHOUT_RULE = {"Africa/Casablanca", "Africa/El_Aaiun", "Asia/Gaza", "Asia/Hebron"}
# Files of the database that are no zones.
NO_ZONES = {"Factory", "localtime", "posixrules"}


def main():
    zones = collections.defaultdict(list)
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [one for one in folders if one not in ("posix", "right")]
        for file in files:
            path = os.path.join(folder, file)
            name = os.path.relpath(path, ROOT)
            with open(path, "rb") as stream:
                data = stream.read()
            if data[:4] == b"TZif" and name not in WITHOUT_RULE | NO_ZONES:
                # The last line of a file (RFC 8536) is its rule for all later times.
                zones[data.rstrip(b"\n").rsplit(b"\n", 1)[-1].decode()].append(name)
    with open(os.path.join(ROOT, "tzdata.zi"), encoding="utf-8") as stream:
        print(f"// tz database, {stream.readline().strip('# ').strip()}: {os.path.basename(__file__)} writes it.")
    for rule in sorted(zones):
        lines = textwrap.wrap(" ".join(sorted(zones[rule])), 100, break_on_hyphens=False, break_long_words=False)
        print(f'{{"{rule}",\n ' + "\n ".join(f'"{line} "' for line in lines) + "},")


if __name__ == "__main__":
    main()
