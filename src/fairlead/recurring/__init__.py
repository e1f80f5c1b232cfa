"""Recurring schedules: changing them, declaring those of an app's code, and firing them when their time has come."""
