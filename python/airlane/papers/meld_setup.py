"""placeholder"""
RECOVERIES = {"rfc9002": {}}
