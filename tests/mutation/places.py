"""Places in C++ source at which a fault can be planted, each behind a switch. Reads code that clang-format has laid out:
a binary operator has spaces around it, a template's angle bracket has not."""

import re

TOKEN = re.compile(r"""
    (?P<skip>\s+|//[^\n]*|/\*.*?\*/|^[ ]*\#(?:[^\n\\]|\\.)*)
  | (?P<str>(?:u8|[uUL])?R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|(?:u8|[uUL])?"(?:[^"\\]|\\.)*"\w*|'(?:[^'\\]|\\.)*')
  | (?P<num>\.?\d(?:[\w.']|(?<=[eE])[+-])*)
  | (?P<id>[A-Za-z_]\w*)
  | (?P<op><<=|>>=|<=>|\.\.\.|->\*|::|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)
""", re.VERBOSE | re.DOTALL | re.MULTILINE)

OPEN = {"(": ")", "[": "]", "{": "}"}
CLOSE = set(OPEN.values())
# Binary operators by how tightly they bind; an operand ends at one that binds less.
BINDS = {"||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7, "<=>": 8,
         "<<": 9, ">>": 9, "+": 10, "-": 10, "*": 11, "/": 11, "%": 11}
STOPS = {",", ";", "?", ":", "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "return", "case", "throw"}
OTHER = {"==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "&&": "||", "||": "&&"}
KIND = {"==": "comparison", "!=": "comparison", "<": "bound", "<=": "bound", ">": "bound", ">=": "bound",
        "&&": "logic", "||": "logic"}
KEYWORDS = {"if", "while", "for", "switch", "return", "sizeof", "decltype", "catch", "else", "do", "case", "new", "throw",
            "static_cast", "alignof", "noexcept", "operator", "const", "mutable", "delete", "auto", "assert", "defined"}
# The order of these arguments does not matter.
SYMMETRIC = {"min", "max", "pair"}
# Calls without an effect that a test could see: a size hint, the end of what the compiler takes for reachable, and the
# check that a caller is on the right thread.
NO_EFFECT = {"reserve", "abort", "Check"}
EMPTY = {"{}", "nullptr", "std::nullopt", '""', "false", "0"}


class Place:
    """`form` has %(n)d for the fault's number and %(inner)s for the code without the fault."""

    def __init__(self, start, end, kind, form):
        self.start, self.end, self.kind, self.form = start, end, kind, form


class Source:
    def __init__(self, text):
        self.text = text
        self.tokens, self.starts, self.ends, self.kinds = [], [], [], []
        self.places = []
        for found in TOKEN.finditer(text):
            kind = found.lastgroup if found.lastgroup != "mark" else "str"
            if kind != "skip":
                self.tokens.append(found.group())
                self.starts.append(found.start())
                self.ends.append(found.end())
                self.kinds.append(kind)
        self.match = self.brackets()
        self.declarations(0, len(self.tokens))
        self.places = nested(self.places)

    def brackets(self):
        match, stack = {}, []
        for at, token in enumerate(self.tokens):
            if token in OPEN:
                stack.append(at)
            elif token in CLOSE:
                match[stack[-1]] = at
                match[at] = stack.pop()
        return match

    def piece(self, first, last):
        """Text of the tokens first to last, last included."""
        return self.text[self.starts[first]:self.ends[last]] if first <= last else ""

    def add(self, first, last, kind, form):
        self.places.append(Place(self.starts[first], self.ends[last], kind, form))

    # Declarations: finds the bodies of functions. Constants, tables and constexpr functions have no places.

    def declarations(self, at, end):
        head = []
        while at < end:
            token = self.tokens[at]
            if token == ";" or (token == ":" and head and head[-1] in ("public", "private", "protected")):
                head = []
            elif token in "([":
                head.append(token + OPEN[token])
                at = self.match[at]
            elif token == "{":
                head, at = self.braces(head, at)
            else:
                head.append(token)
            at += 1

    def braces(self, head, at):
        close = self.match[at]
        if "namespace" in head[:2] or head[:1] == ["extern"]:
            self.declarations(at + 1, close)
        elif "enum" in head:
            return head + ["{}"], close
        elif "()" not in head:
            if "=" in head or not {"class", "struct", "union"} & set(head):
                return head + ["{}"], close
            self.declarations(at + 1, close)
        else:
            before = head[:head.index("()")]
            if "=" in before and "operator" not in before:
                return head + ["{}"], close
            after = head[head.index("()") + 1:]
            member = ":" in after and "->" not in after and re.match(r"\w|>", head[-1])
            if member and head[-1] not in ("const", "override", "noexcept", "final"):
                return head + ["{}"], close
            if not {"constexpr", "consteval"} & set(head):
                self.block(at + 1, close, returned_by(before))
        return [], close

    # Statements.

    def block(self, at, end, returns):
        while at < end:
            at = self.statement(at, end, returns)

    def semicolon(self, at, end):
        while at < end and self.tokens[at] != ";":
            at = self.match[at] + 1 if self.tokens[at] in OPEN else at + 1
        return at

    def statement(self, at, end, returns):
        token = self.tokens[at]
        if token == "{":
            self.block(at + 1, self.match[at], returns)
            return self.match[at] + 1
        if token in ("if", "while", "switch", "for", "catch"):
            return self.headed(at, end, returns)
        if token in ("else", "do", "try"):
            return self.statement(at + 1, end, returns)
        if token in ("case", "default"):
            while self.tokens[at] != ":":
                at += 1
            return at + 1
        last = self.semicolon(at, end)
        if token == "return":
            self.returned(at, last, returns)
            return last + 1
        if token in ("break", "continue"):
            self.add(at, last, "dropped", "if (!PREFETCH_MUTANT(%(n)d)) { %(inner)s }")
            return last + 1
        if {"constexpr", "struct", "class", "using", "enum", "static_assert", "assert"} & set(self.tokens[at:at + 3]):
            return last + 1
        if self.tokens[last - 1] == ")" and self.tokens[self.match[last - 1] - 1] in NO_EFFECT:
            return last + 1
        if last < end and self.is_action(at, last):
            self.add(at, last, "dropped", "if (!PREFETCH_MUTANT(%(n)d)) { %(inner)s }")
        self.expression(at, last)
        return last + 1

    def headed(self, at, end, returns):
        word = self.tokens[at]
        at += 1
        fixed = self.tokens[at] == "constexpr"
        at += fixed
        first, last = at + 1, self.match[at] - 1
        if word != "catch" and not fixed:
            self.expression(first, last + 1)
            if word in ("if", "while"):
                self.condition(first, last)
        at = last + 2
        if at < end and self.tokens[at] == ";":  # of do ... while
            return at + 1
        at = self.statement(at, end, returns)
        if word == "if" and at < end and self.tokens[at] == "else":
            at = self.statement(at, end, returns)
        return at

    def condition(self, first, last):
        at = first
        while at <= last:
            if self.tokens[at] == ";":
                first = at + 1
            elif self.tokens[at] == "=":
                if self.semicolon(at, last + 1) > last:
                    return  # it declares a variable
            at = self.match[at] + 1 if self.tokens[at] in OPEN else at + 1
        self.flip(first, last)

    def flip(self, first, last, kind="condition"):
        self.add(first, last, kind,
                 "(PREFETCH_MUTANT(%%(n)d) ? !(%s) : static_cast<bool>(%%(inner)s))" % escaped(self.piece(first, last)))

    def is_action(self, at, last):
        """A call or an assignment, not a declaration."""
        if self.tokens[at] in ("++", "--", "delete"):
            return True
        if self.tokens[at] in ("(", "*"):
            return self.tokens[at] == "*"
        start, ended = at, False
        while at < last:
            token = self.tokens[at]
            if token in ("(", "["):
                at = self.match[at]
                ended = True
            elif token in (".", "->", "::"):
                ended = False
            elif self.kinds[at] == "id" and not ended:
                ended = True
            elif token == "<" and not self.spaced(at):
                while self.tokens[at] not in (">", ">>"):
                    at += 1
            else:
                return at > start and token in ("=", "+=", "-=", "*=", "/=", "|=", "&=", "<<", "++", "--")
            at += 1
        return self.tokens[last - 1] == ")" and self.tokens[start] not in KEYWORDS

    def returned(self, at, last, returns):
        if at + 1 == last:
            self.add(at, last, "dropped", "if (!PREFETCH_MUTANT(%(n)d)) { %(inner)s }")
            return
        value = self.piece(at + 1, last - 1)
        self.expression(at + 1, last)
        if returns == "bool":
            self.flip(at + 1, last - 1, "return")
        elif re.fullmatch(r"(\w+::)+k[A-Z]\w*", value):
            form = "(PREFETCH_MUTANT(%%(n)d) ? static_cast<decltype(%s)>(static_cast<int>(%s) ^ 1) : %%(inner)s)"
            self.add(at + 1, last - 1, "return", form % (value, value))
        elif returns == "value" and value not in EMPTY and not re.search(r"(^|\w)\{\}$|\bOk\(\)$", value):
            self.add(at, last, "return", "{ if (PREFETCH_MUTANT(%(n)d)) return {}; %(inner)s }")

    # Expressions.

    def spaced(self, at):
        around = self.text[self.starts[at] - 1] + self.text[self.ends[at]:self.ends[at] + 1]
        return around.isspace() and len(around) == 2

    def binds(self, at):
        return BINDS.get(self.tokens[at], 0) if self.spaced(at) else 0

    def lambda_body(self, at):
        """Index of the brace that opens the body of the lambda at `at`, and how it returns."""
        before = self.tokens[at - 1]
        if self.tokens[at] != "[" or self.tokens[at + 1] == "[":
            return None, None
        if before in (")", "]") or (self.kinds[at - 1] in ("id", "str") and before != "return"):
            return None, None
        at = self.match[at] + 1
        if self.tokens[at] == "(":
            at = self.match[at] + 1
        head = []
        while self.tokens[at] != "{":
            if self.tokens[at] in (";", ",", ")", "]"):
                return None, None
            head.append(self.tokens[at])
            at += 1
        return at, "lambda" if "->" not in head else "bool" if head[-1] == "bool" else "value"

    def expression(self, at, end):
        first = at
        while at < end:
            body, returns = self.lambda_body(at)
            if body is not None:
                self.block(body + 1, self.match[body], returns)
                at = self.match[body] + 1
                continue
            token = self.tokens[at]
            if token in OTHER and self.spaced(at):
                left, right = self.operands(at, first, end)
                form = "(PREFETCH_MUTANT(%%(n)d) ? ((%s) %s (%s)) : (%%(inner)s))"
                self.add(left, right, KIND[token], form % (escaped(self.piece(left, at - 1)), OTHER[token],
                                                           escaped(self.piece(at + 1, right))))
            elif token == "?":
                self.flip(self.left(at, first, 0), at - 1)
            elif token == "!" and not self.spaced(at):
                self.negation(at, end)
            elif self.kinds[at] == "num":
                self.number(at)
            elif token == "(":
                self.call(at, first)
            at += 1

    def left(self, at, first, binds):
        at -= 1
        while at >= first:
            token = self.tokens[at]
            if token in CLOSE:
                at = self.match[at]
            elif token in OPEN or token in STOPS or 0 < self.binds(at) < binds:
                break
            at -= 1
        return at + 1

    def operands(self, at, first, end):
        binds = BINDS[self.tokens[at]]
        right = at + 1
        while right < end:
            token = self.tokens[right]
            if token in OPEN:
                right = self.match[right]
            elif token in CLOSE or token in STOPS or 0 < self.binds(right) <= binds:
                break
            right += 1
        return self.left(at, first, binds), right - 1

    def negation(self, at, end):
        last = at + 1
        while last < end:
            token = self.tokens[last]
            if token in ("(", "["):
                last = self.match[last]
            elif not (self.kinds[last] in ("id", "str") or token in (".", "->", "::", "!") or
                      (token == "*" and not self.spaced(last))):
                break
            last += 1
        form = "(PREFETCH_MUTANT(%%(n)d) ? static_cast<bool>(%s) : (%%(inner)s))"
        self.add(at, last - 1, "condition", form % escaped(self.piece(at + 1, last - 1)))

    def number(self, at):
        value = self.tokens[at].replace("'", "")
        if not re.fullmatch(r"0|[1-9]\d*", value) or self.tokens[at + 1] in (">", ">>") and not self.spaced(at + 1):
            return
        self.add(at, at, "off by one", "(PREFETCH_MUTANT(%%(n)d) ? %d : %%(inner)s)" % (int(value) + 1))

    def call(self, at, first):
        """Each pair of neighbouring arguments."""
        if at == first or self.kinds[at - 1] != "id" or self.tokens[at - 1] in KEYWORDS | SYMMETRIC:
            return
        start = self.callee(at - 1, first)
        if start is None:
            return
        commas = [at]
        inside = at + 1
        while inside < self.match[at]:
            if self.tokens[inside] == ",":
                commas.append(inside)
            inside = self.match[inside] + 1 if self.tokens[inside] in OPEN else inside + 1
        commas.append(self.match[at])
        spans = [(a + 1, b - 1) for a, b in zip(commas, commas[1:])]
        for (a, b), (c, d) in zip(spans, spans[1:]):
            if b - a > 20 or d - c > 20 or self.piece(a, b) == self.piece(c, d):
                continue
            changed = (self.text[self.starts[start]:self.starts[a]] + self.piece(c, d) + ", " + self.piece(a, b) +
                       self.text[self.ends[d]:self.ends[self.match[at]]])
            self.add(start, self.match[at], "swapped", "(PREFETCH_MUTANT(%%(n)d) ? %s : %%(inner)s)" % escaped(changed))

    def callee(self, at, first):
        """First token of the called expression, or None where this declares something."""
        while at > first and self.tokens[at - 1] in ("::", ".", "->"):
            at -= 2
            while at > first and self.tokens[at] in (")", "]"):
                at = self.match[at] - 1
            if at < first or self.kinds[at] != "id":
                return None
        if at == first:
            return at
        before = self.tokens[at - 1]
        if before == "return" or before in OPEN or before in STOPS or before == "!" or self.binds(at - 1):
            return at
        return None


def returned_by(head):
    for at, token in enumerate(head):
        if token in ("bool", "void") and not (at and head[at - 1] in ("<", ",")):
            return token
    return "value" if len(head) > 1 and head[0] != "~" and not (len(head) == 3 and head[1] == "::") else "void"


def escaped(text):
    return re.sub(r"//[^\n]*", "", text).replace("%", "%%")


def nested(places):
    """Without those that overlap an earlier one in part, and with one negation of an expression."""
    kept, around, negated = [], [], set()
    for place in sorted(places, key=lambda p: (p.start, -p.end, p.kind == "off by one")):
        if place.kind in ("condition", "comparison", "return"):
            if (place.start, place.end) in negated:
                continue
            negated.add((place.start, place.end))
        while around and around[-1].end <= place.start:
            around.pop()
        if not around or place.end <= around[-1].end:
            kept.append(place)
            around.append(place)
    return kept


def planted(text, places):
    """(the text with all places behind their switches, [(start, end) of each in it]); places: [(number, Place)]."""
    chosen = sorted(places, key=lambda p: (p[1].start, -p[1].end, p[1].kind == "off by one"))
    ranges = {}

    def write(start, end, at, base):
        """Text of [start, end) with chosen[at:] in it as far as they fit, and the next index."""
        out, pos = "", start
        while at < len(chosen) and chosen[at][1].end <= end and chosen[at][1].start >= start:
            number, place = chosen[at]
            out += text[pos:place.start]
            before, after = (part % {"n": number} for part in place.form.split("%(inner)s"))
            inner, at = write(place.start, place.end, at + 1, base + len(out) + len(before))
            ranges[number] = (base + len(out), base + len(out) + len(before) + len(inner) + len(after))
            out += before + inner + after
            pos = place.end
        return out + text[pos:end], at

    out, _ = write(0, len(text), 0, 0)
    return out, ranges
