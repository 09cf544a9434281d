"""The session: its start, its settings, its errors, the package on its executors."""

from .session import local_session

__all__ = ["local_session"]
