#!/usr/bin/env python3
"""training: ranks train one neural network together, each on its part of the data (data parallelism).

    forward, backward on 16 images a rank -> gradients (2.5 MiB) -> sum over the ranks -> one step of all weights

The network has two hidden layers and learns to read handwritten digits: the 1,797 images of 8 x 8 pixels of the UCI repository that
scikit-learn ships (digits.csv.gz). The ranks add their gradients up in one of two ways:

    --form server      a parameter server: MPI_Reduce to rank 0, which steps, and MPI_Bcast of the weights
    --form allreduce   MPI_Allreduce, and every rank steps

All ranks begin with the same weights, and each epoch deals the images out anew, so both forms compute the same thing, up to the order
in which floating-point numbers are added up. The last lines say what was learned, and what it took.

    mpirun -np 4 python3 training.py --data digits.csv.gz [--form allreduce] [--epochs 20]
"""
import argparse
import os
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # a rank is a core

import numpy as np
from mpi4py import MPI

CLASSES, PIXELS, HELD_BACK = 10, 64, 297  # images that are only looked at in the end


class Network:
    """All weights lie in one array, and so do all gradients: one message."""

    def __init__(self, hidden, seed):
        sizes = [PIXELS, hidden, hidden, CLASSES]
        self.shapes = [(inputs, outputs) for inputs, outputs in zip(sizes, sizes[1:])]
        self.weights = np.zeros(sum((inputs + 1) * outputs for inputs, outputs in self.shapes), np.float32)
        self.gradients = np.zeros_like(self.weights)
        generator = np.random.default_rng(seed)
        for (matrix, _), (inputs, outputs) in zip(self.layers(self.weights), self.shapes):
            matrix[:] = generator.standard_normal((inputs, outputs), np.float32) * np.sqrt(2 / inputs)

    def layers(self, array):
        """The matrix and the bias of each layer, as views."""
        at, views = 0, []
        for inputs, outputs in self.shapes:
            matrix = array[at:at + inputs * outputs].reshape(inputs, outputs)
            views.append((matrix, array[at + inputs * outputs:at + (inputs + 1) * outputs]))
            at += (inputs + 1) * outputs
        return views

    def forward(self, images):
        outputs = [images]
        layers = self.layers(self.weights)
        for number, (matrix, bias) in enumerate(layers):
            result = outputs[-1] @ matrix + bias
            outputs.append(np.maximum(result, 0) if number < len(layers) - 1 else result)
        return outputs

    def learn(self, images, labels, total):
        """Writes the gradients of the cross entropy, as a share of `total` images. Returns this part of the loss."""
        outputs = self.forward(images)
        scores = outputs[-1] - outputs[-1].max(axis=1, keepdims=True)
        chances = np.exp(scores)
        chances /= chances.sum(axis=1, keepdims=True)
        here = np.arange(len(labels))
        loss = -np.log(chances[here, labels]).sum() / total
        chances[here, labels] -= 1
        error = chances / np.float32(total)
        layers, gradients = self.layers(self.weights), self.layers(self.gradients)
        for number in reversed(range(len(layers))):
            gradients[number][0][:] = outputs[number].T @ error
            gradients[number][1][:] = error.sum(axis=0)
            if number:
                error = (error @ layers[number][0].T) * (outputs[number] > 0)
        return loss

    def right(self, images, labels):
        return int((self.forward(images)[-1].argmax(axis=1) == labels).sum())


class Exchange:
    """Adds the gradients up and lets the weights step; counts the seconds in MPI."""

    def __init__(self, comm, form, rate):
        self.comm, self.rate, self.seconds = comm, np.float32(rate), 0.0
        self.step = self.server if form == "server" else self.allreduce

    def timed(self, call, *arguments, **words):
        begin = time.perf_counter()
        call(*arguments, **words)
        self.seconds += time.perf_counter() - begin

    def server(self, network):
        root = self.comm.rank == 0
        self.timed(self.comm.Reduce, MPI.IN_PLACE if root else network.gradients, network.gradients if root else None, MPI.SUM, root=0)
        if root:
            network.weights -= self.rate * network.gradients
        self.timed(self.comm.Bcast, network.weights, root=0)

    def allreduce(self, network):
        self.timed(self.comm.Allreduce, MPI.IN_PLACE, network.gradients, MPI.SUM)
        network.weights -= self.rate * network.gradients


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="digits.csv.gz of scikit-learn")
    parser.add_argument("--form", choices=("server", "allreduce"), default="server")
    parser.add_argument("--hidden", type=int, default=768, help="neurons of a hidden layer (default 768: 2.5 MiB of weights)")
    parser.add_argument("--batch", type=int, default=16, help="images a rank and step (default 16)")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--rate", type=float, default=0.2, help="of learning")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()

    comm = MPI.COMM_WORLD
    table = np.loadtxt(options.data, delimiter=",", dtype=np.float32) if comm.rank == 0 else None
    table = comm.bcast(table)
    images, labels = table[:, :PIXELS] / 16, table[:, PIXELS].astype(int)
    trained = len(labels) - HELD_BACK
    network = Network(options.hidden, options.seed)
    exchange = Exchange(comm, options.form, options.rate)
    deal = np.random.default_rng(options.seed + 1)
    together = options.batch * comm.size
    steps, loss = 0, 0.0

    comm.Barrier()
    begin = time.perf_counter()
    for _ in range(options.epochs):
        order = deal.permutation(trained)
        for first in range(0, trained - together + 1, together):
            mine = order[first + comm.rank * options.batch:][:options.batch]
            loss = network.learn(images[mine], labels[mine], together)
            exchange.step(network)
            steps += 1
    seconds = time.perf_counter() - begin

    loss = comm.reduce(loss)
    seconds, in_mpi = comm.reduce(seconds, MPI.MAX), comm.reduce(exchange.seconds)
    if comm.rank == 0:
        right = network.right(images[trained:], labels[trained:])
        print(f"{options.form}: {steps} steps, {network.weights.nbytes / 2**20:.1f} MiB of gradients each, {comm.size} ranks")
        print(f"learned: loss {loss:.5f}, {100 * right / HELD_BACK:.1f}% of {HELD_BACK} other images right")
        print(f"seconds: {seconds:.2f}, in MPI {in_mpi / comm.size:.2f}")


if __name__ == "__main__":
    main()
