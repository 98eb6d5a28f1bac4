"""Making models: training, debiasing, and studies of many models (the extra `train`).

training/    models for a task, from any encoder
debiasing/   methods that reduce what a model represents of an attribute
studies/     many models, trained, debiased and audited as one file says
card.py      the model cards of trained and debiased models
"""
