"""Who says a message: a label at the head of its content, else its name, else its role."""

from __future__ import annotations

import re
import unicodedata

from pgrecall.contract.cleaning import is_blank, single_line

LONGEST_LABEL = 40
"""Characters; `Caroline`, `Dr. Mary-Ann O'Neill`, and not a sentence that happens to hold a colon."""
LONGEST_CJK_LABEL = 8
MOST_WORDS = 4

_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]")
_CJK_SENTENCE = re.compile(r"[第我你您他她它们們咱的了是说說吗嗎呢吧这這那哪么麼]")
"""Characters of sentences, hardly ever of names."""
_NUMBERED = re.compile(r"\s*\d+$|\s[a-z]$")
_PARTICLE_WORDS = "al and bin da de del den der di dos du e el la le of the van von y zu"
"""Lower-case words inside names: Ludwig van Beethoven, the Mayor of London."""
_HEADING_WORDS = """
    a also answer answers asap attachment background btw bye caution cc chapter code conclusion cons
    context correction date deadline details edit error errors example examples exercise fact facts fix
    from ftp fwd fw fyi goal goals good hello hi hint hmm however http https idea ideas important info
    ingredients input instructions issue issues keywords link links list location mailto menu names nb no
    note notes ok okay one option options output ps part places plan plans please problem problems
    pros pps q question questions re reason reasons recap recipe remember reminder result results
    rule rules section so solution spoiler stay step steps subject summary task tasks tbd tel thanks then
    things thought time times tip tips title tldr to today todo tomorrow topic topics translation
    breakfast lunch dinner morning afternoon evening dear hey monday tuesday wednesday thursday friday
    saturday sunday update updates url urls warning weather what when where who why how www yes yesterday
"""
_CJK_HEADING_WORDS = """
    注 注意 备注 備註 附注 附言 问 問 答 问题 問題 答案 回答 例 例如 比如 例子 示例 时间 時間 日期 地点 地點
    标题 標題 主题 主題 总结 總結 小结 摘要 结论 結論 结果 結果 原因 目标 目標 步骤 步驟 提示 警告 错误 更新
    编辑 待办 计划 計劃 链接 网址 内容 收件人 发件人 抄送 回复 转发 原文 译文 翻译 优点 缺点 首先 其次 最后
    另外 因此 所以 但是 今天 明天 昨天
"""
_PARTICLES = frozenset(_PARTICLE_WORDS.split())
_HEADINGS = frozenset(_HEADING_WORDS.split())
_CJK_HEADINGS = frozenset(_CJK_HEADING_WORDS.split())


def speaker_of(role: str, name: object, content: str) -> str:
    """One line, never blank. `role` is a single line, `content` is clean."""
    if label := label_of(content):
        return label
    if isinstance(name, str) and not is_blank(spoken := single_line(name)):
        return spoken
    return "I" if role.casefold() == "user" else role


def label_of(content: str) -> str | None:
    """`Caroline` of `Caroline: Hi!`, `小明` of `小明：你好`; None where the head names no speaker."""
    head = content.lstrip()[: LONGEST_LABEL + 2]
    colon = re.search("[:：]", head)
    if colon is None or colon.start() > LONGEST_LABEL:
        return None
    if colon[0] == ":" and not head[colon.end() :][:1].isspace():  # 12:30, http://, a:b
        return None
    label = head[: colon.start()].rstrip(" ")
    return label if _is_name(label) and not _is_heading(label) else None


def _is_name(label: str) -> bool:
    words = label.split(" ")
    if len(words) > MOST_WORDS or not all(_spells_names(char) for char in label):
        return False
    if _CJK.search(label):
        return len(label) <= LONGEST_CJK_LABEL and not _CJK_SENTENCE.search(label)
    return bool(words[0]) and _starts_name(words[0]) and all(map(_continues_name, words[1:]))


def _spells_names(char: str) -> bool:
    return char in " '’.·-" or unicodedata.category(char)[0] in "LM" or char.isdecimal()


def _starts_name(word: str) -> bool:
    """An upper-case letter, or a letter of a script without case."""
    return word[0].isalpha() and not word[0].islower()


def _continues_name(word: str) -> bool:
    return not word or word in _PARTICLES or word[0].isdecimal() or _starts_name(word)


def _is_heading(label: str) -> bool:
    """`Note`, `P.S.`, `Step 2`, `Option B`, `TODO List`: what heads a text without naming a speaker."""
    if label in _CJK_HEADINGS:
        return True
    words = _NUMBERED.sub("", label.casefold().replace(".", "")).split()
    return not words or words[0] in _HEADINGS or words[-1] in _HEADINGS
