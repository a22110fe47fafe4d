#!/usr/bin/env python3
"""Prints lib/base/time_zone_rules.inc, from this machine's tz database."""
import collections
import os
import re
import textwrap

ROOT = "/usr/share/zoneinfo"
# Their clocks follow Ramadan, which no rule expresses.
WITHOUT_RULE = {"Africa/Casablanca", "Africa/El_Aaiun", "Asia/Gaza", "Asia/Hebron"}
# Files of the database that are no zones.
NO_ZONES = {"Factory", "localtime", "posixrules"}
# A rule of POSIX's TZ variable, as the database has them: names, offsets, and both or no changes of the form Mm.w.d.
NAME = r"(?:<[^>]+>|[A-Za-z]+)"
RULE = re.compile(rf"{NAME}([-+:\d]+)(?:{NAME}([-+:\d]*),(M[^,]+),(M[^,]+))?")


def minutes(time):
    hours, _, rest = time.lstrip("+-").partition(":")
    return (-1 if time.startswith("-") else 1) * (60 * int(hours) + int(rest or 0))


def change(text):
    day, _, time = text.lstrip("M").partition("/")
    return "{" + day.replace(".", ", ") + f", {minutes(time or '2')}}}"


def numbers(rule):
    """Returns the initializer of base::TimeZone's Rule."""
    standard, summer, *changes = RULE.fullmatch(rule).groups()
    winter = -minutes(standard)  # POSIX counts to the west
    if changes == [None, None]:
        return f"{{{winter}, {winter}, {{}}, {{}}}}"
    offset = -minutes(summer) if summer else winter + 60
    return f"{{{winter}, {offset}, " + ", ".join(map(change, changes)) + "}"


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
        print(f'{{"{rule}", {numbers(rule)},\n ' + "\n ".join(f'"{line} "' for line in lines) + "},")


if __name__ == "__main__":
    main()
