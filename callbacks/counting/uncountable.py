"""What no count service can be asked about, by name."""

from callbacks.context.errors import CounterFailed
from callbacks.counting.request import CountRequest


def require_countable(request: CountRequest) -> None:
    """Refuse a configuration whose size cannot be asked for; nothing is skipped silently.

    Raises:
        CounterFailed: With the name of what cannot be counted as its ``cause``.
    """
    config = request.config
    if config.cached_content is not None:
        raise CounterFailed(numbers={"cause": "cached_content"})
    if config.http_options is not None and config.http_options.extra_body:
        raise CounterFailed(numbers={"cause": "extra_body"})


def require_contents(request: CountRequest) -> None:
    """Refuse contents whose size the service cannot see.

    Raises:
        CounterFailed: There are none, or a file stands behind a URI.
    """
    if not request.contents:
        raise CounterFailed(numbers={"cause": "no_contents"})
    for content in request.contents:
        for part in content.parts or ():
            response = part.function_response
            nested = response.parts if response is not None else None
            if part.file_data is not None or any(p.file_data is not None for p in nested or ()):
                raise CounterFailed(numbers={"cause": "file_uri"})
