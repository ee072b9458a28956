"""What went wrong, and why: how brokers and controllers went away, and the incidents that followed, in words.

Plain functions over rows in order of time; `jobs.findings` feeds them.
"""
