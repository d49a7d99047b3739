"""The language model behind any OpenAI-compatible chat endpoint."""

from __future__ import annotations

from pgrecall.deadline import Deadline
from pgrecall.errors import DeadlineExceeded, LanguageRefused, LanguageUnavailable
from pgrecall.language.protocol import MalformedReply
from pgrecall.providers import Provider, ProviderFailure, is_refusal
from pgrecall.tally import ProviderTally

SEED = 20
"""Any number, as long as it stays: the same text shall get the same reply."""


class OpenAILanguageModel:
    """One chat completion a call, temperature 0, at most `concurrency` at once.

    `json_mode` off: for endpoints without `response_format`. Raises StartRefused without `api_key`,
    unless `base_url` is given.
    """

    def __init__(
        self,
        *,
        api_key: str | None,
        model: str,
        base_url: str | None = None,
        timeout: float = 25.0,
        retries: int = 1,
        concurrency: int = 40,
        json_mode: bool = True,
        tally: ProviderTally | None = None,
    ) -> None:
        self._provider = Provider(
            api_key=api_key,
            base_url=base_url,
            timeout=timeout,
            retries=retries,
            concurrency=concurrency,
            names=("PGRECALL_LLM_API_KEY", "PGRECALL_LLM_BASE_URL"),
        )
        self._model = model
        self._json_mode = json_mode
        self._tally = tally or ProviderTally()

    @property
    def name(self) -> str:
        return self._model

    async def reply(self, system: str, user: str, max_tokens: int, deadline: Deadline) -> str:
        body: dict[str, object] = {
            "model": self._model,
            "messages": [{"role": "system", "content": system}, {"role": "user", "content": user}],
            "temperature": 0,
            "seed": SEED,
            "max_tokens": max_tokens,
        }
        if self._json_mode:
            body["response_format"] = {"type": "json_object"}
        try:
            text = read_reply(await self._provider.post("/chat/completions", body, deadline))
        except ProviderFailure as failure:
            self._tally.failure(failure.kind)
            raise _classified(failure) from None
        except (LanguageRefused, MalformedReply) as error:
            self._tally.failure("refused" if isinstance(error, LanguageRefused) else "malformed")
            raise
        except DeadlineExceeded:
            self._tally.failure("deadline")
            raise
        self._tally.success()
        return text

    async def close(self) -> None:
        await self._provider.close()


def _classified(failure: ProviderFailure) -> Exception:
    if failure.kind == "malformed":
        return MalformedReply("the reply is no JSON")
    if is_refusal(failure):
        return LanguageRefused(f"the language model refused: {failure.kind}")
    return LanguageUnavailable(f"the language model failed: {failure.kind}")


def read_reply(reply: object) -> str:
    """The text of the first choice. Raises LanguageRefused, MalformedReply."""
    match reply:
        case {"choices": [{"message": {**message}, **choice}, *_]}:
            text, refusal, finish = (
                message.get("content"),
                message.get("refusal"),
                choice.get("finish_reason"),
            )
        case _:
            raise MalformedReply("the reply is no chat completion")
    if refusal or finish == "content_filter":
        raise LanguageRefused("the language model refused")
    if finish == "length":
        raise MalformedReply("the reply was cut off")
    if not isinstance(text, str) or not text.strip():
        raise MalformedReply("the reply is empty")
    return text
