"""Where a file that is sent along lies on its way."""

from contextlib import suppress
from typing import Any

from django.core.files.uploadhandler import TemporaryFileUploadHandler

from memories.backups.storage import WriteRefused, report_refusal


class OnDisk(TemporaryFileUploadHandler):
    """As a temporary file, which is closed at once when the disk is full. Raises WriteRefused."""

    def receive_data_chunk(self, raw_data: bytes, start: int) -> Any:
        """Write a piece."""
        try:
            with report_refusal():
                self.file.write(raw_data)
                self.file.flush()
        except WriteRefused:
            with suppress(OSError):  # what is left cannot be written either
                self.file.close()
            raise
