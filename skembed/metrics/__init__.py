"""Scores of ranked labels."""

from ._ranking import precision_at_k_score, precision_at_k_scorer

__all__ = ["precision_at_k_score", "precision_at_k_scorer"]
