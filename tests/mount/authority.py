# SPDX-License-Identifier: BSD-3-Clause
"""An authority of the test's own, and certificates that it signs."""
import ssl

import programs

KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]


class Authority:
    """file is what a program takes for ca_file."""

    def __init__(self, work, name="authority"):
        programs.need("openssl")
        self.work = work
        self.file, self.key = f"{work}/{name}.pem", f"{work}/{name}.key"
        programs.tool("openssl", "req", "-x509", *KEY, "-keyout", self.key,
                      "-out", self.file, "-days", "2", "-subj",
                      f"/CN={name} of a test")

    def certificate(self, name="IP:127.0.0.1", days=2):
        """Its file and that of its key. days below 0: it has expired."""
        stem = f"{self.work}/server-{name.replace(':', '-')}-{days}"
        with open(stem + ".ext", "w", encoding="ascii") as file:
            file.write(f"subjectAltName={name}\n")
        programs.tool("openssl", "req", *KEY, "-keyout", stem + ".key",
                      "-out", stem + ".csr", "-subj", "/CN=server")
        sign = ["openssl", "x509", "-req", "-in", stem + ".csr", "-CA",
                self.file, "-CAkey", self.key, "-CAcreateserial", "-extfile",
                stem + ".ext", "-out", stem + ".pem"]
        try:
            programs.tool(*sign, "-days", str(days))
        except AssertionError:
            # OpenSSL from 3.4 on wants dates of what is over.
            if days >= 0:
                raise
            programs.tool(*sign, "-not_before", "20200101000000Z",
                          "-not_after", "20200102000000Z")
        return stem + ".pem", stem + ".key"

    def context(self, **more):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.certificate(**more))
        return context
