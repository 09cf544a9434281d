"""What the local engine reads, and the readers of files that tasks use too."""
