"""
Three more kernels
==================

Beside the kernels of scikit-learn there are three: histogram intersection for counts, splines for a handful of
columns between 0 and 1, and waves for places in up to three dimensions. Each is a function of two matrices, and a
name for `KernelSubspace` and the rankers.
"""

import matplotlib.pyplot as plt
import numpy as np

from rarefy.kernel import KernelSubspace, histogram_intersection_kernel, spline_kernel, wave_kernel

ticks = np.linspace(0, 1, 101)[:, None]
figure, axes = plt.subplots(1, 3, figsize=(10, 3.2), layout="constrained")
for centre in (0.2, 0.5, 0.9):
    axes[0].plot(ticks, histogram_intersection_kernel(ticks, [[centre]]), label=f"v = {centre}")
    axes[1].plot(ticks, spline_kernel(ticks, [[centre]]))
    axes[2].plot(ticks, wave_kernel(ticks, [[centre]], theta=0.035))
for ax, name in zip(axes, ("histogram intersection", "spline", "wave, theta = 0.035"), strict=True):
    ax.set(title=name, xlabel="u")
axes[0].set_ylabel("k(u, v)")
axes[0].legend(frameon=False)

# %%
# How well do ten coordinates describe a curve with a bend and one with waves? Least squares on the coordinates of 200
# samples: the kernel decides what is easy.

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 1, 200))[:, None]
curves = {"bend": np.abs(x[:, 0] - 0.4), "waves": np.sin(25 * x[:, 0])}
settings = {"histogram_intersection": {}, "spline": {}, "wave": {"kernel_params": {"theta": 0.035}}}
print("kernel                  unexplained: bend   waves")
for kernel, more in settings.items():
    D = KernelSubspace(10, n_landmarks=80, kernel=kernel, random_state=0, **more).fit_transform(x)
    design = np.column_stack([D, np.ones(200)])
    left_over = [
        np.var(curve - design @ np.linalg.lstsq(design, curve, rcond=None)[0]) / np.var(curve)
        for curve in curves.values()
    ]
    print(f"{kernel:23s} {left_over[0]:17.1%} {left_over[1]:7.1%}")
plt.show()
