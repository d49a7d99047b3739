"""Whether a query says anything to search for."""

from __future__ import annotations

import re
import unicodedata

_ENGLISH_WORDS = """
    a an the this that these those
    of in on at to from by with for into onto over under up down off out as
    and or but nor so if than then
    am is are was were be been being do does did done have has had having
    can could will would shall should may might must
    i me my mine myself we us our ours ourselves you your yours yourself yourselves
    he him his himself she her hers herself it its itself they them their theirs themselves
    not no there here just also too very
    i'm i've i'd i'll it's that's there's don't doesn't didn't isn't aren't wasn't weren't
"""
"""Articles, prepositions, conjunctions, auxiliaries, pronouns. Interrogatives are not among them: `when`
alone still asks something.
"""
_ENGLISH = frozenset(_ENGLISH_WORDS.split())
_CHINESE = frozenset("的了吗嗎呢吧啊呀嘛着著过過得地是在有和与與及或我你您他她它们們这這那个個也都就还還很把被")
_CHINESE_WORDS = """
    什么时候 什么 时候 甚么 多少 多久 多大 怎么样 怎么 怎样 为什么 为何 如何 哪里 哪儿 哪个 哪些 哪位 哪天 哪年
    几点 几号 几个 是不是 有没有 能不能 可不可以 可以 应该 一下 一直 来着 记得 知道 告诉 请问 帮我
    我们 你们 他们 她们 咱们 自己 这个 那个 这些 那些 现在 目前 如今 眼下 最近 之前 以前 当初 当时 后来 最后
    到底 分别 已经 因为 所以 但是 如果 或者 以及 还有 没有 不是
    什麼時候 什麼 時候 怎麼樣 怎麼 怎樣 為什麼 為何 哪裡 哪兒 哪個 幾點 幾號 幾個 應該 記得 告訴 請問
    我們 你們 他們 她們 這個 那個 現在 當時 後來 最後 到底 分別 已經 因為 還有 沒有
"""
_CHINESE_FUNCTION = re.compile(
    "|".join(sorted(_CHINESE_WORDS.split(), key=len, reverse=True)) + "|[的了吗嗎呢吧啊呀嘛们們是这這那谁誰哪几幾]"
)
"""What a Chinese question asks with and not for. Characters that also begin common nouns (在 有 地 过) are
not among them.
"""
_CHINESE_JOINING = _CHINESE | frozenset("您它用给給跟让讓从從对對为為到去来來会會能要叫")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")


def has_words(query: str) -> bool:
    """False where `query` is blank, only punctuation, or only stop words. An emoji counts as a word."""
    words = _WORD.findall(query.casefold().replace("’", "'"))
    return any(map(_says_something, words)) or any(unicodedata.category(char) == "So" for char in query)


def content_runs(run: str) -> list[str]:
    """What a run of Chinese asks for: it is cut at the words that only ask, and what is left alone between them
    and only joins is dropped."""
    return [part for part in _CHINESE_FUNCTION.split(run) if part and part not in _CHINESE_JOINING]


def is_stop_word(word: str) -> bool:
    """Whether a folded English word is one."""
    return word in _ENGLISH


def _says_something(word: str) -> bool:
    """A run of Chinese says something if one of its characters does: it has no spaces to split at."""
    return not is_stop_word(word) and not all(char in _CHINESE for char in word)
