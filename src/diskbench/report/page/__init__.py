"""Reports as files: HTML, Markdown, PDF, pictures."""
