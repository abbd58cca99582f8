"""A picture of a certificate."""

from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from rarefy.certificates import Certificate, KernelCertificate, SubsetCertificate
from rarefy.exceptions import ParameterError
from rarefy.inspection._display import Display

_KINDS = (Certificate, SubsetCertificate, KernelCertificate)


class CertificateDisplay(Display):
    """Certified shares as bars, beside the thresholds of the verdict.

    Of a :class:`rarefy.SubsetCertificate` two more bars show how many of the chosen columns, and of the others, are
    proved to be in every best set or in none.

    Parameters
    ----------
    certificate : Certificate, SubsetCertificate or KernelCertificate
        What to draw.

    Attributes
    ----------
    bars_ : matplotlib BarContainer
        One bar a certified share.
    status_bars_ : dict of str to BarContainer
        By status of columns, its parts of the bars of chosen and of other columns; empty if the certificate says
        nothing about each column.
    ax_ : matplotlib axes
        What was drawn on.
    figure_ : matplotlib figure
        Its figure.

    See Also
    --------
    rarefy.certify : Certifies any subset of features.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from rarefy.inspection import CertificateDisplay
    >>> from rarefy.selection import BestSubsetSelector
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> display = CertificateDisplay.from_estimator(BestSubsetSelector(8, C=0.1).fit(X, y))
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['of the best columns there are', 'objective, these labels', 'the 8 chosen', 'the 22 others']
    """

    def __init__(self, certificate: Certificate | SubsetCertificate | KernelCertificate) -> None:
        self.certificate = certificate

    def plot(self, ax: Any = None) -> Self:
        """Draw the certificate.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        display : CertificateDisplay
            The display, with what was drawn.
        """
        drawn = self.certificate._draw(ax)
        self._store_axes(drawn.ax, ax)
        self.bars_, self.status_bars_ = drawn.bars, drawn.status
        return self

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the certificate of a fitted selector.

        Parameters
        ----------
        estimator : estimator
            A fitted selector that has a `certificate_`.
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        display : CertificateDisplay
            The display, with what was drawn.
        """
        check_is_fitted(estimator)
        certificate = getattr(estimator, "certificate_", None)
        if certificate is None:
            raise ParameterError(
                f"CertificateDisplay needs an estimator with a certificate_; {type(estimator).__name__} has none. "
                "rarefy.certify makes a certificate of any columns."
            )
        return cls.from_certificate(certificate, ax=ax)

    @classmethod
    def from_certificate(cls, certificate: Any, *, ax: Any = None) -> Self:
        """Draw a certificate.

        Parameters
        ----------
        certificate : Certificate, SubsetCertificate or KernelCertificate
            What to draw.
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        display : CertificateDisplay
            The display, with what was drawn.
        """
        if not isinstance(certificate, _KINDS):
            words = ", ".join(kind.__name__ for kind in _KINDS)
            raise ParameterError(f"CertificateDisplay draws one of {words}; got {type(certificate).__name__}.")
        return cls(certificate).plot(ax)
