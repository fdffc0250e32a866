"""Change a running fabric: look, apply, resume, roll back, and keep it to a timetable."""
