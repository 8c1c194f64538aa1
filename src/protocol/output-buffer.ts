export class OutputBuffer {
  parts: Buffer[] = [];
  length = 0;
  take(): Buffer[] {
    const p = this.parts;
    this.parts = [];
    this.length = 0;
    return p.length ? [Buffer.concat(p)] : [];
  }
  release(_s: Buffer[]): void {}
}
