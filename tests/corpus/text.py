"""Text for the corpus: a vocabulary with Zipf's distribution, and what agents write with it."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from itertools import accumulate

__all__ = ["Text"]

_HEAD = """the to a of and in is it for that this with on be as you not we file from test error code
line should function return value if now run fix add use path when class let me check import need call
build all new update session module name type config server user data output result key list
api request response database query index cache token message async await thread lock docker deploy
deployment container network port proxy auth login password oauth migration schema table column
transaction rollback commit branch merge rebase diff patch refactor lint pytest unittest coverage
timeout retry backoff queue worker scheduler cron webhook payload parser lexer compiler runtime
memory leak profile benchmark latency throughput kernel socket stream buffer encoder decoder json yaml
toml markdown render widget textual terminal cursor scroll viewport layout theme color keyboard mouse
kubernetes terraform ansible nginx redis postgres sqlite mysql kafka rabbitmq grpc graphql rest http
python rust typescript javascript golang java swift kotlin react vue svelte django flask fastapi"""
_SYLLABLES = """ba be bi bo bu ca ce ci co cu da de di do du fa fe fi fo ga ge gi go ha he hi ho ja jo ka ke ki ko
la le li lo lu ma me mi mo mu na ne ni no nu pa pe pi po pu ra re ri ro ru sa se si so su ta te ti to tu va ve vi vo
wa we wi xa ya yo za ze zo tion ment er ing ed al ic ous ive able ness ist ism ant ent ary"""
_FOLDERS = "src tests lib app services internal pkg core utils handlers models"
_ENDINGS = "py ts rs go tsx sql toml yaml md sh"
_CJK = ("数据库连接超时", "セッションを再開する", "테스트가 실패했습니다", "修复登录错误", "部署到生产环境")
_EMOJI = ("✅", "🚀", "❌", "🔧", "👩‍💻", "⚠️")


class Text:
    """A source of text. All randomness comes from one `Random`."""

    def __init__(self, rng: random.Random, vocabulary: int) -> None:
        """`vocabulary`: how many words; words that occur once (`hapax`) come in addition."""
        self._rng = rng
        self._head, self._folders, self._endings = _HEAD.split(), _FOLDERS.split(), _ENDINGS.split()
        self._words = self._vocabulary(vocabulary)
        # Zipf's law with an exponent of 1.05; technical words are the most frequent.
        self._weights = list(accumulate(1.0 / (rank + 2.7) ** 1.05 for rank in range(len(self._words))))
        self._pool: list[str] = []
        self._at = 0
        self._once = 0

    def _vocabulary(self, size: int) -> list[str]:
        r, syllables = self._rng, _SYLLABLES.split()
        words, seen = list(self._head), set(self._head)
        while len(words) < size:
            word = "".join(r.choices(syllables, k=r.choice((2, 2, 3, 3, 4))))
            if r.random() < 0.06:
                word += f"_{r.choice(syllables)}{r.choice(syllables)}"
            if word not in seen and len(word) > 3:
                seen.add(word)
                words.append(word)
        return words

    def words(self, count: int) -> list[str]:
        """That many words."""
        start = self._at
        if start + count > len(self._pool):
            self._pool = self._rng.choices(self._words, cum_weights=self._weights, k=40_000)
            start = 0
        self._at = start + count
        return self._pool[start : start + count]

    def word(self) -> str:
        """One word."""
        return self.words(1)[0]

    def identifier(self) -> str:
        """The name of a variable."""
        one, other = self.words(2)
        return f"{one}_{other}" if self._rng.random() < 0.5 else one + other.capitalize()

    def hapax(self) -> str:
        """A word that occurs nowhere else, so that the vocabulary grows with the corpus, as that of real text."""
        self._once += 1
        return hashlib.md5(b"%d" % self._once).hexdigest()[: self._rng.choice((7, 8, 12, 32))]

    def path(self) -> str:
        """A file's path within a project."""
        r = self._rng
        return (
            f"{r.choice(self._folders)}/{self.word()}/{self.word()}_{r.choice(self._head)}.{r.choice(self._endings)}"
        )

    def prose(self, size: float) -> str:
        """Sentences of about `size` characters, some with a path, a hash, CJK or an emoji."""
        return _filled(self._sentence, size)

    def code(self, size: float) -> str:
        """Source code of about `size` characters."""
        return _filled(self._code, size)

    def tool_output(self, size: float) -> str:
        """Lines of one kind: a file, what grep found, a test run with colours, a log or a diff."""
        kind = (self._file, self._found, self._test, self._log, self._diff)[self._rng.randint(0, 4)]
        return _filled(kind, size)

    def _sentence(self) -> str:
        r = self._rng
        words, chance = self.words(r.randint(6, 22)), r.random()
        if chance < 0.12:
            words.insert(len(words) // 2, f"`{self.path()}`")
        elif chance < 0.20:
            words.append(self.hapax())
        elif chance < 0.22:
            words.append(r.choice(_CJK))
        elif chance < 0.24:
            words.append(r.choice(_EMOJI))
        text = " ".join(words)
        return text[0].upper() + text[1:] + (".\n\n" if r.random() < 0.2 else ". ")

    def _code(self) -> str:
        r = self._rng
        f, a, b, c = self.identifier(), self.word(), self.word(), self.identifier()
        kind = r.randint(0, 3)
        if kind == 0:
            return (
                f'def {f}({a}, {b}=None):\n    if {a} is None:\n        raise ValueError("{b} {c}")\n'
                f"    return {c}({a}, {b}={r.randint(0, 999)})\n\n"
            )
        if kind == 1:
            return (
                f"async function {f}({a}: string, {b}: number): Promise<{c}> {{\n  const {b}2 = await {c}.{a}({b});\n"
                f"  return {{ {a}, {b}: {b}2 ?? {r.randint(0, 99)} }};\n}}\n\n"
            )
        if kind == 2:
            return (
                f'    {a} = self.{f}[{r.randint(0, 9)}]  # {" ".join(self.words(5))}\n    assert {a} == "{c}", {b}\n'
            )
        return f"SELECT {a}, {b}, count(*) FROM {c} WHERE {f} > {r.randint(1, 10000)} GROUP BY {a};\n"

    def _file(self) -> str:
        return f"{self._rng.randint(1, 900):6d}→    {' '.join(self.words(self._rng.randint(2, 9)))}\n"

    def _found(self) -> str:
        return f"{self.path()}:{self._rng.randint(1, 2000)}:    {self.identifier()}({', '.join(self.words(2))})\n"

    def _test(self) -> str:
        name = f"\x1b[32mPASSED\x1b[0m {self.path()}::test_{self.identifier()}"
        return f"{name} [{self._rng.randint(0, 100):3d}%]\n"

    def _log(self) -> str:
        r = self._rng
        moment = (
            f"2026-{r.randint(1, 12):02d}-{r.randint(1, 28):02d}T{r.randint(0, 23):02d}:{r.randint(0, 59):02d}:07Z"
        )
        level = r.choice(("INFO", "WARN", "ERROR", "DEBUG"))
        event = f"{self.identifier()} req={self.hapax()} {' '.join(self.words(6))}"
        return f"{moment} {level} {event} took={r.randint(1, 9000)}ms\n"

    def _diff(self) -> str:
        r = self._rng
        return f"{'+' if r.random() < 0.5 else '-'}    {self.identifier()} = {self.word()}({r.randint(0, 99)})\n"


def _filled(piece: Callable[[], str], size: float) -> str:
    """Pieces until there are `size` characters."""
    pieces: list[str] = []
    length = 0
    while length < size:
        pieces.append(piece())
        length += len(pieces[-1])
    return "".join(pieces)
