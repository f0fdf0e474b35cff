"""Compression of long answers of the API, for clients that take it."""

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware

LEAST = 32 * 1024  # bytes; of less the time of packing is worth more than what is saved
PATHS = ("/api/", "/compat/")


class CompressionMiddleware(GZipMiddleware):
    """Packs them as gzip. Pages are left to the proxy in front, files are packed already."""

    async_capable = False

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Return the answer, packed if it is long."""
        is_long = not response.streaming and len(getattr(response, "content", b"")) >= LEAST
        if not is_long or not request.path_info.startswith(PATHS):
            return response
        packed: HttpResponseBase = super().process_response(request, response)
        return packed
