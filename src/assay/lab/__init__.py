"""How models are made: training, debiasing, and studies of many models (`pip install "assay-bias[train]"`).

training/    models for a task, from any encoder
debiasing/   models with less of an attribute in them
studies/     many models, made and asked as one file says
card.py      what a made model says about itself
"""
