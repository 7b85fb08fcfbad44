# SPDX-License-Identifier: Apache-2.0
"""Classifies scikit-learn's digits by their nearest neighbours, in scikit-learn's own cross-validation.
Needs scikit-learn."""

from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV

import starling

rows, labels = load_digits(return_X_y=True)
search = GridSearchCV(starling.KNeighborsClassifier(),
                      {"n_neighbors": [1, 3, 5], "metric": ["euclidean", "cosine", "chebyshev"]})
search.fit(rows, labels)
print("best:", search.best_params_)
print("share of right answers:", round(search.best_score_, 3))
