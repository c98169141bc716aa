"""The machines that come with shardc, as TOML (shardc.report.machine says what is in one)."""
