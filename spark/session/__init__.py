"""The session: how it starts, what it is told, and what goes to its executors."""

from .session import local_session

__all__ = ["local_session"]
