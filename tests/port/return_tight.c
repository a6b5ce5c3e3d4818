// tags: part
// SPDX-License-Identifier: MIT-0
// port: return, if and while with parentheses and without blanks
// function: return_tight
// with: x:2
// in: 2
// out: 1
// at: 1.5 2
// at: 0.25 2.5
// call: y[0] = return_tight@(x);

static double tight_part(double a)
{
    if(a>2)return(a);
    return( a*a );
}

double return_tight(const double *x)
{
    double s=x[0]*x[1];
    while(s>10)s/=2;
    if(!(s<1))return-s*tight_part(s);else return(x[0])*tight_part(x[1]);
}
