"""What doors over HTTP share: who asks, forms, answers, problems, answers that are given once."""
