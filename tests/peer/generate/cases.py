"""All cases."""
import torch

from . import elementwise, indexing, layers, models, moving, nn_layers, optimisers, reductions
from .book import Book


def all_cases():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    book = Book()
    for part in (elementwise, reductions, moving, indexing, layers, nn_layers, models, optimisers):
        part.add_cases(book)
    return book
